"""Conversation."""

from __future__ import annotations

import orjson

from ...actors.conversations import ShownConversation
from .account import account_json
from .rendered import Renderings
from .status import FlagsById, status_json


def conversation_json(
    told: ShownConversation, renderings: Renderings, base_url: str, flags: FlagsById | None = None
) -> bytes:
    """A conversation for the account whose it is."""
    conversation = told.conversation
    head = orjson.dumps({"id": str(conversation.id), "unread": conversation.unread})[:-1]
    people = b",".join(account_json(one, renderings, base_url) for one in told.participants)
    last = (
        b"null" if told.last is None else status_json(told.last, renderings, base_url, conversation.account_id, flags)
    )
    return b'%b,"accounts":[%b],"last_status":%b}' % (head, people, last)
