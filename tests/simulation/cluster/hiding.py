"""Acts that hide something, and the requests that show it until then.

Each function of `ACTS` makes people of its own, so that several acts fit into one run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.moderation import Action, ModerateAccount
from troupe.actors.kernel import NotAnswered
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.storage import lists
from troupe.storage.engine.database import StorageError
from troupe.storage.lists import List
from troupe.supervision.testing import Broken
from troupe.supervision.testing.stage import Person, token_of
from troupe.supervision.testing.stage.api import SimulatedReply
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode

from ..foreign import Foreigner
from .requests import Get, give_tokens, has_published, insist

ACTS_OF_A_RUN = 4
LATEST = 4.0  # seconds until an act begins
ROUNDS = 3  # of reading

HOME = "/api/v1/timelines/home"
PUBLIC = "/api/v1/timelines/public"

Shows = Callable[[SimulatedReply], bool]


@dataclass(frozen=True, slots=True)
class Showing:
    """A request, and whether its answer shows what will be hidden."""

    get: Get
    shows: Shows


@dataclass(frozen=True, slots=True)
class Hiding:
    """What hides something, and the requests that show it before. `act` returns when it is acknowledged."""

    name: str
    act: Callable[[], Awaitable[object]]
    showing: list[Showing]


def lists_status(id: int) -> Shows:
    """True if a page has the status."""
    return lambda reply: reply.status == 200 and any(item["id"] == str(id) for item in reply.json)


def answers(reply: SimulatedReply) -> bool:
    return reply.status == 200


def _of_status(reader: Person | None, author: Person, id: int) -> list[Showing]:
    """Return the requests that show a status on its own page and on that of its author."""
    return [
        Showing(Get(reader, f"/api/v1/statuses/{id}"), answers),
        Showing(Get(reader, f"/api/v1/accounts/{author.id}/statuses"), lists_status(id)),
    ]


def _at_home(reader: Person, id: int) -> Showing:
    return Showing(Get(reader, HOME), lists_status(id))


async def _two(sim: SimulatedCluster, name: str) -> tuple[Person, Person]:
    """Return a person, and another whom the first follows."""
    one, other = await sim.people(f"{name}_one", f"{name}_other")
    give_tokens(sim, one, other)
    one.has_followed(other)
    return one, other


def _post(sim: SimulatedCluster, person: Person, path: str, **fields: object) -> Callable[[], Awaitable[object]]:
    return lambda: insist(sim, person, "POST", path, fields)


async def block(sim: SimulatedCluster) -> Hiding:
    """Who is blocked sees nothing of the other, and the other way round."""
    one, other = await _two(sim, "block")
    other.has_followed(one)
    mine, theirs = has_published(sim, one, visibility="private"), has_published(sim, other)
    showing = [_at_home(other, mine), *_of_status(other, one, mine), _at_home(one, theirs)]
    return Hiding("block", _post(sim, one, f"/api/v1/accounts/{other.id}/block"), showing)


async def mute(sim: SimulatedCluster) -> Hiding:
    one, other = await _two(sim, "mute")
    id = has_published(sim, other)
    return Hiding("mute", _post(sim, one, f"/api/v1/accounts/{other.id}/mute"), [_at_home(one, id)])


async def unfollow(sim: SimulatedCluster) -> Hiding:
    """Who follows no longer sees no private status any more."""
    one, other = await _two(sim, "unfollow")
    id = has_published(sim, other, visibility="private")
    showing = [_at_home(one, id), *_of_status(one, other, id)]
    return Hiding("unfollow", _post(sim, one, f"/api/v1/accounts/{other.id}/unfollow"), showing)


async def remove_follower(sim: SimulatedCluster) -> Hiding:
    one, other = await _two(sim, "removal")
    id = has_published(sim, other, visibility="private")
    showing = [_at_home(one, id), *_of_status(one, other, id)]
    return Hiding("removal", _post(sim, other, f"/api/v1/accounts/{one.id}/remove_from_followers"), showing)


async def delete(sim: SimulatedCluster) -> Hiding:
    """A status that is deleted is on no page."""
    one, other = await _two(sim, "deletion")
    id = has_published(sim, other, "hello #deleted")
    made = List(sim.new_id(), one.id, "friends", "list", False, sim.clock.now())
    sim.database.arrange(lists.insert, made, 1)
    sim.database.arrange(lists.add, made.id, [other.id], [sim.new_id()], sim.clock.now())
    showing = [
        _at_home(one, id), *_of_status(one, other, id), Showing(Get(None, PUBLIC), lists_status(id)),
        Showing(Get(one, f"/api/v1/timelines/list/{made.id}"), lists_status(id)),
    ]  # fmt: skip
    return Hiding("deletion", lambda: insist(sim, other, "DELETE", f"/api/v1/statuses/{id}"), showing)


async def filter_words(sim: SimulatedCluster) -> Hiding:
    one, other = await _two(sim, "filter")
    id = has_published(sim, other, "spoiler")

    def is_open(reply: SimulatedReply) -> bool:
        return any(item["id"] == str(id) and not item["filtered"] for item in reply.json)

    fields = {
        "title": "spoilers", "context": ["home"], "filter_action": "hide",
        "keywords_attributes": [{"keyword": "spoiler", "whole_word": True}],
    }  # fmt: skip
    return Hiding("filter", _post(sim, one, "/api/v2/filters", **fields), [Showing(Get(one, HOME), is_open)])


async def block_domain(sim: SimulatedCluster) -> Hiding:
    (one,) = await sim.people("domains_one")
    give_tokens(sim, one)
    other = Foreigner(sim, "domains_other", "far.example")
    one.has_followed(other)
    id = other.has_published(sim, "from afar")
    showing = [_at_home(one, id), Showing(Get(one, PUBLIC), lists_status(id))]
    return Hiding("domain block", _post(sim, one, "/api/v1/domain_blocks", domain="far.example"), showing)


async def revoke_token(sim: SimulatedCluster) -> Hiding:
    (one,) = await sim.people("token_one")
    give_tokens(sim, one)
    application = sim.database.rows("SELECT max(client_id) AS client_id FROM applications")[0]["client_id"]
    revoke = _post(sim, one, "/oauth/revoke", token=token_of(one), client_id=application, client_secret="-")
    return Hiding("revoked token", revoke, [Showing(Get(one, HOME), answers)])


async def suspend(sim: SimulatedCluster) -> Hiding:
    one, other = await _two(sim, "suspension")
    id = has_published(sim, other)
    showing = [_at_home(one, id), *_of_status(one, other, id), Showing(Get(None, PUBLIC), lists_status(id))]
    return Hiding("suspension", lambda: _moderate(sim, other, "suspend"), showing)


async def silence(sim: SimulatedCluster) -> Hiding:
    _, other = await _two(sim, "silencing")
    id = has_published(sim, other)
    return Hiding("silencing", lambda: _moderate(sim, other, "silence"), [Showing(Get(None, PUBLIC), lists_status(id))])


async def _moderate(sim: SimulatedCluster, target: Person, action: Action) -> None:
    """Let a member of staff act at one node after the other, until one answers."""
    message = ModerateAccount(COMMAND_LINE, action)
    while True:
        try:
            await sim.runtime.ask(account_address(target.id), message)
        except (NotAnswered, StorageError):
            await trio.sleep(0.05)
        else:
            sim.run.note(f"has been acted on: {action}", target.name)
            return


ACTS = (
    block, mute, unfollow, remove_follower, delete, filter_words, block_domain, revoke_token, suspend, silence,
)  # fmt: skip


async def hide_and_read(sim: SimulatedCluster) -> None:
    """Act amid trouble, and read on every node as soon as the act is acknowledged."""
    chosen = sim.run.random.sample(ACTS, ACTS_OF_A_RUN)
    hidings = [await make(sim) for make in chosen]
    for hiding in hidings:
        await _show(sim, hiding)
    async with sim.run.together() as go:
        go(sim.storm, name="storm")
        for hiding in hidings:
            go(_hide, sim, hiding, name=hiding.name)
    await sim.calm()
    for hiding in hidings:
        for node in sim.nodes:
            for showing in hiding.showing:
                reply = await showing.get.insist(sim, node)
                assert not showing.shows(reply), f"{node.name} shows {showing.get} after the {hiding.name}"


async def _show(sim: SimulatedCluster, hiding: Hiding) -> None:
    """Every node shows what will be hidden, so that it is in its memory."""
    for node in sim.nodes:
        for showing in hiding.showing:
            reply = await showing.get.insist(sim, node)
            assert showing.shows(reply), f"{node.name} does not show {showing.get} before the {hiding.name}"


async def _hide(sim: SimulatedCluster, hiding: Hiding) -> None:
    await trio.sleep(sim.run.random.random() * LATEST)
    await hiding.act()
    for _ in range(ROUNDS):
        async with sim.run.together() as go:
            for node in sim.nodes:
                go(_read, sim, hiding, node, name=f"reader at {node.name}")
        await trio.sleep(sim.run.random.random() / 2)


async def _read(sim: SimulatedCluster, hiding: Hiding, node: SimulatedNode) -> None:
    for showing in hiding.showing:
        reply = await showing.get.send(sim, node)
        if reply is not None and showing.shows(reply):
            raise Broken(f"{node.name} shows {showing.get} after the {hiding.name}")
