"""Peers: the other servers that this server knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson
import trio

from ...actors.rules.domains import DomainRules
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
    body = await _peers(context)
    found = {domain for beginning in query.beginnings() for domain in _beginning_with(beginning, body)}
    return json(sorted(found)[:FOUND])


async def _peers(context: HttpContext) -> bytes:
    async def make() -> bytes:
        known, rules = await context.database.read(instance.peers), context.blocks.domains
        # Of a hundred thousand domains this takes a second, and no step of it is long.
        return await trio.to_thread.run_sync(_public, known, rules)

    return await context.kept.get("peers", context.clock.now(), make)


def _public(domains: Sequence[str], rules: DomainRules) -> bytes:
    """Return the domains that are not suspended as JSON."""
    return orjson.dumps([domain for domain in domains if not rules.standing_of(domain).suspended])


def _beginning_with(beginning: str, body: bytes) -> Iterator[str]:
    """Yield the first domains with a beginning in a list as JSON. To read the list would make an object of each."""
    sought = orjson.dumps(beginning)[:-1]  # as it is written there, with the quotation mark in front
    at = 1 if body.startswith(sought, 1) else body.find(b"," + sought) + 1
    for _ in range(FOUND):
        if not at:
            return
        yield orjson.loads(body[at : body.index(b'"', at + len(sought)) + 1])
        at = body.find(b"," + sought, at) + 1
