"""Facts that reach a node in another order than that of their commits, or that a crashed turn has not published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from troupe.actors.facts.accounts import ReloadedAccount
from troupe.actors.facts.fact import Fact, Facts
from troupe.actors.kernel import NOWHERE, Address, Origin
from troupe.actors.memory.cache import RowCache
from troupe.storage import accounts, statuses
from troupe.storage.accounts import Account
from troupe.storage.statuses import Status
from troupe.supervision.testing import Budget, simulation
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage import Person, token_of
from troupe.supervision.testing.stage.server import SimulatedServer

from .breaking import first_failure
from .two_nodes import Link, Recorder, TwoNodes, two_nodes

Patch = pytest.MonkeyPatch

OWN = "/api/v1/accounts/verify_credentials"
PROFILE = "/api/v1/accounts/update_credentials"


async def send(server: SimulatedServer, who: Person, method: str, path: str, **fields: object) -> Any:
    reply = await server.api.send(method, path, token_of(who), fields)
    assert reply.status == 200, (path, reply.status, reply.json)
    return reply.json


async def check_rows(server: SimulatedServer, people: Sequence[Person], ids: Sequence[int]) -> None:
    """Everything that is cached is as the rows have it."""
    kept = await server.actors.accounts.find_many(person.id for person in people)
    assert kept == await server.database.read(accounts.find_many, [person.id for person in people])
    assert await server.actors.statuses.find_many(ids) == await server.database.read(statuses.find_many, ids)


async def hear_in_any_order(nodes: TwoNodes) -> None:
    """The facts of the other node come in an order that the run chooses, some of them twice."""
    sim, other = nodes.sim, nodes.other
    people = ada, bob = await sim.people("ada", "bob")
    sim.sign_in(people)
    bob.has_followed(ada)
    sent = Recorder.of(other)
    await bob.home()
    edited, deleted = [int((await send(other, ada, "POST", "/api/v1/statuses", status="first"))["id"]) for _ in "ab"]
    await send(other, ada, "PUT", f"/api/v1/statuses/{edited}", status="second")
    await send(other, bob, "POST", f"/api/v1/statuses/{edited}/favourite")
    await send(other, ada, "PATCH", PROFILE, display_name="Countess")
    await send(other, ada, "DELETE", f"/api/v1/statuses/{deleted}")
    await send(other, bob, "POST", f"/api/v1/accounts/{ada.id}/unfollow")

    bundles = sent.bundles + sent.bundles[:2]
    sim.run.random.shuffle(bundles)
    for facts in bundles:
        await sim.actors.facts.receive(facts, NOWHERE)
    await check_rows(sim, people, [edited, deleted])
    assert await sim.actors.statuses.find(deleted) is None


async def change_while_another_node_does(nodes: TwoNodes) -> None:
    """Ada posts while others follow her on another node, whose facts come at any moment."""
    sim, other = nodes.sim, nodes.other
    people = ada, bob, cyd, dan = await sim.people("ada", "bob", "cyd", "dan")
    sim.sign_in(people)
    Link.between(other, sim)

    async def post() -> None:
        for _ in range(3):
            await ada.publish()

    async def follow(who: Person) -> None:
        await send(other, who, "POST", f"/api/v1/accounts/{ada.id}/follow")

    async with sim.together() as go:
        go(post, name="ada")
        for person in (bob, cyd, dan):
            go(follow, person, name=person.name)
    await check_rows(sim, people, ada.published)


async def crash_after_the_commit(nodes: TwoNodes) -> None:
    """A turn crashes before it has published facts that no relay publishes. Then the other node forgets its copies."""
    sim, other = nodes.sim, nodes.other
    (ada,) = people = await sim.people("ada")
    sim.sign_in(people)
    Link.between(sim, other)
    node, notify = sim.actors.facts, sim.actors.facts.notify_actors
    post = f"/api/v1/statuses/{await ada.publish('hello')}"

    async def crash(facts: Sequence[Fact], origin: Origin, publisher: Address | None = None) -> None:
        node.notify_actors = notify  # the next turn does not crash
        raise RuntimeError("the turn crashes")

    for path in (OWN, post):
        await send(other, ada, "GET", path)
    for method, path, fields in (("PATCH", PROFILE, {"display_name": "Countess"}), ("POST", f"{post}/bookmark", {})):
        node.notify_actors = crash
        assert (await sim.api.send(method, path, token_of(ada), fields)).status == 503
        await send(sim, ada, "GET", OWN)  # the answer comes from the next life of the actor
    own, shown = await send(other, ada, "GET", OWN), await send(other, ada, "GET", post)
    assert (own["display_name"], shown["account"]["display_name"], shown["bookmarked"]) == (
        "Countess",
        "Countess",
        True,
    )


@simulation(seeds=6, world=two_nodes)
async def test_facts_in_any_order_leave_the_rows(nodes: TwoNodes) -> None:
    await hear_in_any_order(nodes)


@simulation(seeds=6, world=two_nodes)
async def test_a_turn_caches_no_row_that_another_node_has_changed(nodes: TwoNodes) -> None:
    await change_while_another_node_does(nodes)


@simulation(seeds=2, world=two_nodes)
async def test_a_reloaded_account_is_read_again_by_all_nodes(nodes: TwoNodes) -> None:
    await crash_after_the_commit(nodes)


# Broken on purpose ---------------------------------------------------------------------------------------------------


def rows_of_accounts_are_cached(patch: Patch) -> None:
    def put(self: Facts, row: Account) -> None:
        self.accounts.put(row.id, row, self.accounts.changes)

    patch.setattr(Facts, "put_account", put)


def rows_of_statuses_are_cached(patch: Patch) -> None:
    def put(self: Facts, row: Status) -> None:
        self.statuses.put(row.id, row, self.statuses.changes)

    patch.setattr(Facts, "put_status", put)


def older_rows_are_cached(patch: Patch) -> None:
    put = RowCache[Any].put

    def put_always(self: RowCache[Any], id: int, row: Any, since: int) -> None:
        put(self, id, row, self.changes)

    patch.setattr(RowCache, "put", put_always)


def reloaded_accounts_stay_cached(patch: Patch) -> None:
    def ignore(self: ReloadedAccount, facts: Facts) -> None:
        pass

    patch.setattr(ReloadedAccount, "cache", ignore)


def copies_are_not_read_again(patch: Patch) -> None:
    patch.setattr(ReloadedAccount, "subject", None)


# Runs that find one quickly.
KNOWN = {"older_rows_are_cached": [(55, "random")]}


@pytest.mark.parametrize(
    ("break_rule", "scenario"),
    [
        (rows_of_accounts_are_cached, hear_in_any_order),
        (rows_of_statuses_are_cached, hear_in_any_order),
        (older_rows_are_cached, change_while_another_node_does),
        (reloaded_accounts_stay_cached, crash_after_the_commit),
        (copies_are_not_read_again, crash_after_the_commit),
    ],
    ids=lambda part: part.__name__,
)
def test_an_older_row_in_a_cache_is_found(break_rule: Callable[[Patch], None], scenario: Callable[..., Any]) -> None:
    series = Series(scenario, two_nodes, Budget(0))
    with Patch.context() as patch:
        break_rule(patch)
        _, played = first_failure(series, KNOWN.get(break_rule.__name__, ()))
    assert isinstance(played.error, AssertionError), "an answer is wrong, not the code"
    assert series.play_seed(played.seed, played.strategy).error is None, "and it is right when nothing is broken"
