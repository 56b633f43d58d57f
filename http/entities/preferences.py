"""Preferences, with the flat names of the API."""

from __future__ import annotations

from ...storage.users import User


def preferences_fields(user: User) -> dict[str, object]:
    """Return the preferences. Those about reading cannot be set yet and have the clients' default values."""
    return {
        "posting:default:visibility": user.default_privacy,
        "posting:default:sensitive": user.default_sensitive,
        "posting:default:language": user.default_language,
        "posting:default:quote_policy": user.default_quote_policy,
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": False,
    }
