"""Reject: of a request to follow or to quote, or of a follow that was accepted before."""

from __future__ import annotations

from ...commands.follow_requests import RemoveFollower
from ...commands.quotes import RevokeQuote
from ..quotes import asking_quote
from ..receiving import Activity, InboxContext
from .accept import asking


async def reject(inbox: InboxContext, activity: Activity) -> None:
    if (waiting := await asking_quote(inbox, activity)) is not None:
        command = RevokeQuote(waiting.quoted.id, waiting.quoting.id)
        await inbox.ask(activity.actor.id, command, activity.origin)
        return
    follower = await asking(inbox, activity)
    if follower is not None:
        await inbox.ask(activity.actor.id, RemoveFollower(follower), activity.origin)
