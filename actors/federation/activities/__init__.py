"""The handlers of activities of other servers, by type. Other types are ignored, as every server ignores some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from ..receiving import Activity, InboxContext
from .accept import accept
from .announce import announce
from .block import block
from .create import create
from .delete import delete
from .flag import flag
from .follow import follow
from .like import like
from .move import move
from .pin import add, remove
from .quote_request import quote_request
from .reject import reject
from .undo import undo
from .update import update

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
    "Like": like,
    "Move": move,
    "QuoteRequest": quote_request,
    "Reject": reject,
    "Remove": remove,
    "Undo": undo,
    "Update": update,
}
