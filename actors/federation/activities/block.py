"""Block: of an account of this server. It ends the follows in both directions."""

from __future__ import annotations

from ...commands.relations import Block
from ..receiving import Activity, InboxContext


async def block(inbox: InboxContext, activity: Activity) -> None:
    target = await inbox.local_account_id(activity.object_uri)
    if target is not None:
        await inbox.ask(activity.actor.id, Block(target, activity.id), activity.origin)
