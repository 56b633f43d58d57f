"""Reject: of a request to follow, or of a follow that was accepted before."""

from __future__ import annotations

from ...commands.follow_requests import RemoveFollower
from ..receiving import Activity, InboxContext
from .accept import asking


async def reject(inbox: InboxContext, activity: Activity) -> None:
    follower = await asking(inbox, activity)
    if follower is not None:
        await inbox.ask(activity.actor.id, RemoveFollower(follower), activity.origin)
