"""Preferences, with names as flat as the API has them."""

from __future__ import annotations

from ...storage.users import User


def preferences_fields(user: User) -> dict[str, object]:
    """Of reading, nothing can be set here yet: clients hear what they would take for granted."""
    return {
        "posting:default:visibility": user.default_privacy,
        "posting:default:sensitive": user.default_sensitive,
        "posting:default:language": user.default_language,
        "posting:default:quote_policy": user.default_quote_policy,
        "reading:expand:media": "default",
        "reading:expand:spoilers": False,
        "reading:autoplay:gifs": False,
    }
