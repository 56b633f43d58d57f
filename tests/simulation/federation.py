"""Scenarios between two servers. They are played with the product's rules, and with broken ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from unittest.mock import patch

import trio

from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.follow_requests import AuthorizeRequest, RejectRequest, RemoveFollower
from troupe.actors.commands.follows import Follow, Unfollow
from troupe.actors.commands.moves import AddAlias, MoveAway
from troupe.actors.commands.polls import Vote
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.federation import follower_lists
from troupe.actors.kernel import Message
from troupe.actors.rules.polls import PollTerms
from troupe.storage import follows
from troupe.supervision.testing import Budget, Fault, Run
from troupe.supervision.testing.stage import Person, Simulation, TwoServers, two_servers
from troupe.supervision.testing.stage.people import Served
from troupe.supervision.testing.stage.server import SimulatedServer
from troupe.supervision.testing.stage.two_servers import TALLY_DELAY

FAULTS = Budget(4, frozenset(Fault) - {Fault.SLOW, Fault.DEAD})
ASKED_AGAIN = 70.0  # seconds in the place of five minutes, through which all relays look 300 times; over AGREES_FOR

TEXTS = "SELECT uri, text, content FROM statuses WHERE deleted_at IS NULL AND account_id = $1 ORDER BY uri"
URIS = "SELECT id, uri FROM statuses WHERE id = ANY($1::bigint[])"
FOLLOWS = """
    SELECT 'follows' AS state FROM follows WHERE account_id = $1 AND target_account_id = $2
    UNION ALL SELECT 'asks' FROM follow_requests WHERE account_id = $1 AND target_account_id = $2
"""
STATES = "SELECT status_id, date_trunc('milliseconds', created_at) AS told FROM status_edits"
MOVED = "SELECT FROM accounts WHERE id = $1 AND moved_to_id IS NOT NULL"
POLLS = "SELECT id, uri, poll_id FROM statuses WHERE poll_id IS NOT NULL"
TALLIES = """
    SELECT o.votes FROM poll_options o JOIN statuses s ON s.poll_id = o.poll_id WHERE s.uri = $1
    ORDER BY o.position
"""
OWN_VOTES = """
    SELECT v.position FROM poll_votes v JOIN statuses s ON s.poll_id = v.poll_id
    WHERE s.uri = $1 AND v.account_id = $2
"""


def uris(server: SimulatedServer, ids: Sequence[int]) -> list[str]:
    """The URIs of statuses, in their order."""
    named = {row["id"]: row["uri"] for row in server.database.rows(URIS, list(ids))}
    return [named[id] for id in ids]


def shown(server: SimulatedServer, author: Person) -> list[tuple[str, str]]:
    """What a server has of an author: the URIs and the contents of statuses."""
    return [(row["uri"], row["content"]) for row in server.database.rows(TEXTS, author.id)]


def standing(follower: Person, followed: Person) -> list[str]:
    """How two accounts stand by the rows of one server: `follows`, `asks`, or nothing."""
    return [row["state"] for row in follower.server.database.rows(FOLLOWS, follower.id, followed.id)]


async def fails_and_returns(sim: TwoServers, server: Simulation) -> None:
    """Kill a server in the middle, and start it again a little later."""
    chance = sim.run.random
    await trio.sleep(0.5 * chance.random())
    await server.kill()
    await trio.sleep(3 * chance.random())
    await server.start()


async def posts_amid_crashes(sim: TwoServers) -> None:
    """Ada posts in the north, for two followers in the south, while one of the servers is killed."""
    ada = await sim.north.account("ada")
    bob, cyd = await sim.south.people("bob", "cyd")
    for follower in (bob, cyd):
        sim.has_followed(follower, ada)
    stream = await bob.stream()

    async def post() -> None:
        for number in range(3):
            await ada.publish(f"number {number}")

    async with sim.together() as go:
        go(post, name="ada")
        go(fails_and_returns, sim, sim.run.random.choice(sim.servers), name="SIGKILL")
    await sim.calm()

    ledger = uris(sim.north, ada.published)
    for follower in (bob, cyd):
        assert sorted(uris(sim.south, await follower.home())) == sorted(ledger), "each acknowledged post is there once"
    assert sorted(uris(sim.south, stream.seen)) == sorted(ledger)
    assert shown(sim.north, ada) == shown(sim.south, sim.known(ada))


async def follows_change_on_both_sides(sim: TwoServers) -> None:
    """Bob follows from the south and thinks again, while ada in the north answers and thinks again too."""
    locked = sim.run.random.random() < 0.5
    ada = await sim.north.account("ada", locked=locked)
    bob = await sim.south.account("bob")
    ada_there, bob_there = sim.known(ada), sim.known(bob)
    bob_follows = Follow(ada_there.id)

    async def change_mind() -> None:
        for _ in range(2):
            await bob.attempt(bob_follows)
            await pause(sim)
            await bob.unfollow(ada_there)
            await pause(sim)
        await bob.attempt(bob_follows)

    async def answer() -> None:
        for kind in sim.run.random.choices((AuthorizeRequest, RejectRequest, RemoveFollower), k=3):
            await pause(sim)
            message: Message[None] = kind(bob_there.id)
            await ada.attempt(message)

    async with sim.together() as go:
        go(change_mind, name="bob")
        go(answer, name="ada")
    await sim.calm()

    here, there = standing(bob_there, ada), standing(bob, ada_there)
    assert here == there, f"the servers agree, and not {here} in the north and {there} in the south"
    sim.sometimes(here == ["follows"], "bob follows in the end")
    sim.sometimes(here == ["asks"], "bob asks in the end")
    sim.sometimes(not here, "ada has put an end to it")


async def block_meets_deliveries(sim: TwoServers) -> None:
    """Ada and bob follow each other and post. Then ada blocks bob, who may follow once more at the same time."""
    ada = await sim.north.account("ada")
    bob = await sim.south.account("bob")
    sim.has_followed(ada, bob)
    sim.has_followed(bob, ada)
    stream = await ada.stream()
    bob_there = sim.known(bob)

    async def block() -> None:
        await pause(sim)
        await ada.block(bob_there)
        before = [*stream.pushed]
        assert not await of(ada, bob_there), "nothing of bob is shown after the answer"
        await pause(sim)
        await ada.publish("he will not see this")
        assert not await of(ada, bob_there)
        assert not by(sim.north, bob_there, set(stream.pushed) - set(before))

    async def post(who: Person) -> None:
        for _ in range(3):
            await who.publish("hello")
            await pause(sim)

    async def follow_once_more() -> None:
        await pause(sim)
        await bob.attempt(Unfollow(sim.known(ada).id))
        await pause(sim)
        await bob.attempt(Follow(sim.known(ada).id))

    async with sim.together() as go:
        go(block, name="ada")
        go(follow_once_more, name="bob's laptop")
        go(post, ada, name="ada's phone")
        go(post, bob, name="bob")
    await sim.calm()

    assert not await of(ada, bob_there)
    assert not await of(bob, sim.known(ada)), "bob's server has ended his follow"
    for server in sim.servers:
        follows = server.database.rows("SELECT FROM follows UNION ALL SELECT FROM follow_requests")
        assert not follows, f"nobody follows in the {server.place.label}"
    had = shown(sim.south, sim.known(ada))
    late = await ada.publish("nor this")
    await bob.publish("is anybody there?")
    await sim.calm()
    assert shown(sim.south, sim.known(ada)) == had, "nothing new is sent to him"
    assert late not in await of(bob, sim.known(ada))
    assert not await of(ada, bob_there)


async def votes_at_once(sim: TwoServers) -> None:
    """Bob votes in the south with two phones at once, for a poll in the north, and cyd there with one."""
    ada, cyd = await sim.north.people("ada", "cyd")
    bob = await sim.south.account("bob")
    sim.has_followed(bob, ada)
    terms = PollTerms(("tea", "milk"), seconds=86400)
    await ada.insist(PublishStatus("which?", poll=terms, idempotency_key="which"))
    await sim.calm()
    (here,), (there,) = (server.database.rows(POLLS) for server in sim.servers)
    uri = here["uri"]

    async with sim.together() as go:
        go(bob.attempt, Vote(there["id"], there["poll_id"], (0,)), name="phone")
        go(bob.attempt, Vote(there["id"], there["poll_id"], (1,)), name="laptop")
        go(cyd.attempt, Vote(here["id"], here["poll_id"], (1,)), name="cyd")
    await sim.calm()
    await trio.sleep(TALLY_DELAY + 10)
    await sim.calm()

    votes = [
        [vote["position"] for vote in person.server.database.rows(OWN_VOTES, uri, person.id)]
        for person in (bob, sim.known(bob))
    ]
    assert votes[0] == votes[1], "bob's vote is the same on both servers"
    assert len(votes[0]) <= 1, "bob has one vote"
    north, south = ([row["votes"] for row in server.database.rows(TALLIES, uri)] for server in sim.servers)
    assert north == south, "both servers show the same tallies"
    assert sum(north) <= 2
    sim.sometimes(sum(north) == 2, "two have voted")


async def changes_meet_deliveries(sim: TwoServers) -> None:
    """Ada edits one post twice and deletes another, while they are on their way."""
    ada = await sim.north.account("ada")
    bob, _ = await sim.south.people("bob", "cyd")
    sim.has_followed(bob, ada)

    async def edit() -> None:
        status = await ada.publish("one")
        for text in ("two", "three @cyd@south.test"):
            await pause(sim)
            await ada.attempt(EditStatus(status, text))

    async def delete() -> None:
        status = await ada.publish("regretted")
        await pause(sim)
        await ada.delete(status)

    async with sim.together() as go:
        go(edit, name="phone")
        go(delete, name="laptop")
    await sim.calm()

    assert shown(sim.north, ada) == shown(sim.south, sim.known(ada)), "both servers show the same"
    kept = [id for id in ada.published if id not in ada.deleted]
    assert uris(sim.south, await bob.home()) == uris(sim.north, kept)
    times = [row["told"] for row in sim.north.database.rows(STATES)]
    assert len(times) == len(set(times)), "each state has another time, because other servers may go by it"


async def move_meets_follows(sim: TwoServers) -> None:
    """Ada moves to another account in the north. Cyd follows her from the south, and bob begins to just then."""
    ada, ana = await sim.north.people("ada", "ana")
    bob, cyd = await sim.south.people("bob", "cyd")
    sim.has_followed(cyd, ada)
    old, new, *_ = (sim.known(person) for person in (ada, ana, bob, cyd))
    await ana.insist(AddAlias(f"https://{sim.north.place.domain}/users/ada"))

    async def follow() -> None:
        await pause(sim)
        await bob.attempt(Follow(old.id))

    async def move() -> None:
        await pause(sim)
        await ada.attempt(MoveAway(ana.id))

    async with sim.together() as go:
        go(follow, name="bob")
        go(move, name="ada")
    await sim.calm()

    for follower in (bob, cyd):
        for followed in (ada, ana):
            here, there = standing(sim.known(follower), followed), standing(follower, sim.known(followed))
            assert here == there, f"the servers agree on {follower.name} and {followed.name}: {here}, {there}"
    if not sim.north.database.rows(MOVED, ada.id):
        return  # she was told that it did not work
    for follower in (bob, cyd):
        assert not standing(follower, old), f"{follower.name} follows no account that has moved"
    assert standing(cyd, new) == ["follows"], "her followers go along"
    sim.sometimes(standing(bob, new) == ["follows"], "bob has followed her before she moved")
    sim.sometimes(not standing(bob, new), "bob comes too late")


@asynccontextmanager
async def asking_again_soon(run: Run) -> AsyncGenerator[TwoServers]:
    """Two servers that wait for less long until they fetch a list of followers again."""
    with patch.object(follower_lists, "NOT_FETCHED_FOR", ASKED_AGAIN):
        async with two_servers(run) as sim:
            yield sim


async def follows_differ(sim: TwoServers) -> None:
    """News was lost, so that the servers know other followers of ada's. She posts for them; dan changes his mind."""
    ada, eva = await sim.north.people("ada", "eva")
    bob, cyd, dan = await sim.south.people("bob", "cyd", "dan")
    for follower in (bob, cyd, dan):
        sim.has_followed(follower, ada)
    await cyd.insist(Follow(sim.known(eva).id))  # which makes his key: without one he can't follow anybody
    for person, followed in ((sim.known(bob), ada), (cyd, sim.known(ada))):
        person.server.database.arrange(follows.delete_follow, person.id, followed.id)
    await trio.sleep(10)  # a follow that is younger than the activity would stay

    async def post() -> None:
        for number in range(3):
            await ada.publish(f"for followers {number}", visibility="private")
            await pause(sim)

    async def change_mind() -> None:
        await pause(sim)
        await dan.unfollow(sim.known(ada))
        await pause(sim)
        await dan.insist(Follow(sim.known(ada).id))

    async with sim.together() as go:
        go(post, name="ada")
        go(change_mind, name="dan")
    here, there = [sim.known(one) for one in (bob, cyd, dan)], (bob, cyd, dan)

    def standings() -> list[list[list[str]]]:
        return [[standing(one, ada) for one in here], [standing(one, sim.known(ada)) for one in there]]

    agreed = [[], [], ["follows"]]
    for _ in range(1 + FAULTS.most):  # what is lost is asked for again after a later post
        await sim.calm()
        await trio.sleep(10)
        await sim.calm()
        if standings() == [agreed, agreed]:
            break
        await trio.sleep(ASKED_AGAIN)
        await ada.publish("and later", visibility="private")
    assert standings() == [agreed, agreed], "both servers have the followers that both sides want"


async def of(reader: Person, author: Person) -> list[int]:
    """The statuses of an author in a reader's home timeline."""
    return by(reader.server, author, set(await reader.home()))


def by(server: Served, author: Person, ids: set[int]) -> list[int]:
    """Those of some statuses that are of an author."""
    rows = server.database.rows("SELECT id FROM statuses WHERE account_id = $1 ORDER BY id", author.id)
    return [row["id"] for row in rows if row["id"] in ids]


async def pause(sim: TwoServers) -> None:
    """Wait for about as long as a delivery takes, or not at all."""
    await trio.sleep(sim.run.random.choice((0.0, 0.1, 0.5, 3.0)))
