"""Stores the custom emoji of other servers, up to a number for each domain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..storage import custom_emojis
from ..storage.engine.database import Connection
from .context import ActorContext
from .memory.daily_quotas import MOST_EMOJIS
from .rules.domains import registrable


async def put_emojis(
    db: Connection, context: ActorContext, domain: str, emojis: Sequence[tuple[str, str]], now: datetime
) -> tuple[int, ...]:
    """Store emoji of a server, each with its name and address. Return their ids. Known names get the new address.

    New names are left out if the domain has too many emoji already, or too many new emoji today.
    """
    if not emojis:
        return ()
    known = await custom_emojis.known_of(db, domain, [shortcode for shortcode, _ in emojis])
    fresh = [emoji for emoji in emojis if emoji[0] not in known]
    if fresh:
        room = MOST_EMOJIS - await custom_emojis.count_below(db, registrable(domain), MOST_EMOJIS)
        fresh = fresh[: context.quotas.take("emojis", domain, min(len(fresh), room))]
    kept = [emoji for emoji in emojis if emoji[0] in known] + fresh
    return tuple(await custom_emojis.put_remote(db, domain, [(context.ids.next(), *emoji) for emoji in kept], now))
