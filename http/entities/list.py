"""List."""

from __future__ import annotations

from ...storage.lists import List


def list_fields(list: List) -> dict[str, object]:
    return {
        "id": str(list.id),
        "title": list.title,
        "replies_policy": list.replies_policy,
        "exclusive": list.exclusive,
        "show_replies": list.replies_policy != "none",
    }
