"""The handlers of activities of other servers, by type. Other types are ignored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from ..inbox_context import Activity, InboxContext
from .accounts import flag, move
from .interactions import add, announce, like, remove
from .quote_request import quote_request
from .relations import accept, block, follow, reject
from .statuses import create, delete, update
from .undo import undo

Handler = Callable[[InboxContext, Activity], Awaitable[None]]

HANDLERS: Mapping[str, Handler] = {
    "Accept": accept,
    "Add": add,
    "Announce": announce,
    "Block": block,
    "Create": create,
    "Delete": delete,
    "Flag": flag,
    "Follow": follow,
    "Invite": create,  # Hubzilla publishes events so
    "Like": like,
    "Move": move,
    "QuoteRequest": quote_request,
    "Reject": reject,
    "Remove": remove,
    "Undo": undo,
    "Update": update,
}
