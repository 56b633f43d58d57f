"""Which keys and types the entities have."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from troupe.storage.engine.json_values import is_object

ID = r"^\d+$"
INSTANT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
DAY = r"^\d{4}-\d\d-\d\d$"
URL = r"^https?://"

# A type, a pattern of texts, null, one of several, or an object with these keys.
Shape: TypeAlias = "type[object] | str | tuple[Shape, ...] | Mapping[str, Shape] | None"

ACCOUNT: dict[str, Shape] = {
    "id": ID, "username": str, "acct": str, "url": URL, "uri": URL, "display_name": str, "note": str, "avatar": URL,
    "avatar_static": URL, "avatar_description": str, "header": URL, "header_static": URL, "header_description": str,
    "locked": bool, "fields": list, "emojis": list, "bot": bool, "group": bool, "discoverable": bool, "indexable": bool,
    "noindex": bool, "created_at": INSTANT, "last_status_at": (DAY, None), "statuses_count": int,
    "followers_count": int, "following_count": int, "hide_collections": bool, "show_media": bool,
    "show_media_replies": bool, "show_featured": bool, "roles": list,
}  # fmt: skip


CREDENTIAL_ACCOUNT: dict[str, Shape] = {
    **ACCOUNT,
    "follow_requests_count": int,
    "source": {
        "note": str, "fields": list, "privacy": "^(public|unlisted|private|direct)$", "sensitive": bool,
        "language": (str, None), "follow_requests_count": int, "hide_collections": bool, "discoverable": bool,
        "indexable": bool, "attribution_domains": list, "quote_policy": "^(public|followers|nobody)$",
    },
    "role": {"id": str, "name": str, "color": str, "permissions": ID, "highlighted": bool},
}  # fmt: skip


def differences(value: object, shape: Shape, at: str = "$") -> list[str]:
    """Where a value is not of a shape."""
    match shape:
        case None:
            return [] if value is None else [f"{at} is {value!r}, not null"]
        case tuple():
            found = [differences(value, one, at) for one in shape]
            return [] if [] in found else found[0]
        case Mapping():
            if not is_object(value):
                return [f"{at} is {value!r}, not an object"]
            keys = [f"{at}.{key} is {word}" for word, keys in _keys(value, shape) for key in keys]
            return keys + [
                why for key in shape.keys() & value for why in differences(value[key], shape[key], f"{at}.{key}")
            ]
        case str():
            fits = isinstance(value, str) and re.search(shape, value) is not None
            return [] if fits else [f"{at} is {value!r}, not {shape}"]
        case _:
            return [] if type(value) is shape else [f"{at} is {value!r}, not {shape.__name__}"]


def _keys(value: dict[str, Any], shape: Mapping[str, Shape]) -> list[tuple[str, list[str]]]:
    return [("missing", sorted(shape.keys() - value)), ("too much", sorted(value.keys() - shape))]
