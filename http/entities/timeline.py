"""List, Marker and Conversation."""

from __future__ import annotations

import orjson

from ...actors.account import ViewerPart
from ...actors.shown.conversations import ShownConversation
from ...storage.lists import List
from ...storage.markers import Marker
from .account import account_json
from .rendered import Renderings
from .status import status_json
from .times import instant


def list_fields(list: List) -> dict[str, object]:
    return {
        "id": str(list.id),
        "title": list.title,
        "replies_policy": list.replies_policy,
        "exclusive": list.exclusive,
        "show_replies": list.replies_policy != "none",
    }


def marker_fields(marker: Marker) -> dict[str, object]:
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": instant(marker.updated_at),
    }


def conversation_json(shown: ShownConversation, renderings: Renderings, base_url: str, viewer: ViewerPart) -> bytes:
    """Return a conversation for its owner."""
    conversation = shown.conversation
    last = None if shown.last is None else orjson.Fragment(status_json(shown.last, renderings, base_url, viewer))
    people = [orjson.Fragment(account_json(account, renderings, base_url)) for account in shown.participants]
    return orjson.dumps(
        {"id": str(conversation.id), "unread": conversation.unread, "accounts": people, "last_status": last}
    )
