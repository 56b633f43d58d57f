"""Removals: nodes freeze in front of a transaction that enters no shard, and wake after they were removed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import trio

from troupe.actors.kernel import NotAnswered
from troupe.supervision.testing.stage import Person, token_of
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode

from .hiding import HOME
from .requests import Get, give_tokens, send
from .takeovers import freeze_before

PATIENCE = 12.0  # seconds, longer than a freeze
APPLICATION = "SELECT max(client_id) AS client_id FROM applications"
IS_REVOKED = "SELECT bool_and(revoked_at IS NOT NULL) AS revoked FROM access_tokens WHERE account_id = $1"


async def revoke_tokens(sim: SimulatedCluster) -> None:
    """Three people revoke their tokens, and ask once. Meanwhile every node reads with them.

    In the end every node knows what was revoked. A node that was removed has told no other node.
    """
    people = await sim.people("ada", "bob", "cyd")
    give_tokens(sim, *people)
    frozen: list[SimulatedNode] = []
    for node in sim.nodes:
        freeze_before(sim, node, "revoke", frozen)
    asked = trio.Event()
    async with sim.run.together() as go:
        for node in sim.nodes:
            go(partial(_read, sim, people, node, asked), name=f"reader at {node.name}")
        go(partial(_revoke, sim, people, asked), name="revocations")
    await sim.calm()
    for person in people:
        revoked = sim.database.rows(IS_REVOKED, person.id)[0]["revoked"]
        for node in sim.nodes:
            reply = await Get(person, HOME).insist(sim, node)
            assert (reply.status == 401) is revoked, f"{node.name} answers {reply.status} to {person.name}"


async def _revoke(sim: SimulatedCluster, people: Sequence[Person], asked: trio.Event) -> None:
    application = sim.database.rows(APPLICATION)[0]["client_id"]
    for person in people:
        fields = {"token": token_of(person), "client_id": application, "client_secret": "-"}
        try:
            reply = await send(sim, sim.pick(), person, "POST", "/oauth/revoke", fields, patience=PATIENCE)
        except NotAnswered:  # no node runs
            continue
        if reply is not None:
            assert reply.status == 200
            assert sim.database.rows(IS_REVOKED, person.id)[0]["revoked"], "what is acknowledged is stored"
    asked.set()


async def _read(sim: SimulatedCluster, people: Sequence[Person], node: SimulatedNode, asked: trio.Event) -> None:
    while not asked.is_set():
        for person in people:
            await Get(person, HOME).send(sim, node)
        await trio.sleep(0.5)
