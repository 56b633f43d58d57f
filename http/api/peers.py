"""Peers: the other servers that this server knows."""

from __future__ import annotations

import orjson

from ...actors.rules.identity import domain_of
from ...storage import instance
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..intake.parameters import Input, Sought
from ..router import api

FOUND = 10  # the most results of a search


class PeerQuery(Input):
    q: Sought

    def beginnings(self) -> tuple[str, ...]:
        """Return the beginnings of domains, as they are stored. A whole domain may be in any script."""
        whole = domain_of(self.q)
        return (self.q.strip().lower(),) if whole is None else (self.q.strip().lower(), whole)


@api.get("/api/v1/instance/peers", returns="[string]")
async def show_peers(context: HttpContext) -> Answer:
    """The domains of all known servers that are not suspended."""
    return Answer(await _peers(context))


@api.get("/api/v1/peers/search", returns="[string]")
async def search_peers(context: HttpContext, query: PeerQuery) -> Answer:
    """The first known domains with this beginning, in alphabetical order."""
    domains: list[str] = orjson.loads(await _peers(context))
    beginnings = query.beginnings()
    return json([domain for domain in domains if domain.startswith(beginnings)][:FOUND])


async def _peers(context: HttpContext) -> bytes:
    async def make() -> bytes:
        known = await context.database.read(instance.peers)
        rules = context.blocks.domains
        return orjson.dumps([domain for domain in known if not rules.standing_of(domain).suspended])

    return await context.kept.get("peers", context.clock.now(), make)
