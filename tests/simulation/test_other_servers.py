"""Servers that are slow, away or hostile get what is theirs in time, and delay no other one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import trio

from troupe.actors.commands.blocked_domains import DomainTerms, ImposeDomainBlock, impose
from troupe.actors.deliveries.sender import DeliveryReply
from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.outgoing.messages import BadAnswer, TookTooLong
from troupe.actors.staff.acts import COMMAND_LINE, StaffAct
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.server import Answering

from .foreign import Foreigner, all_delivered

with_servers = partial(stage, deliveries=True)

HOSTS = 50
POSTS = 12
# Of the long runs: what they measure is virtual time, which passes only when no task can go on.
ONE = ("random",)
WAITING = "SELECT count(*) AS number FROM outbox WHERE queue = 'deliveries'"


def answers(*statuses: int, retry_after: str | None = None) -> Answering:
    """A server that answers with one status after the other. The last one repeats."""
    left = [*statuses]

    async def answer(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.lowlevel.checkpoint()
        return DeliveryReply(left.pop(0) if len(left) > 1 else left[0], retry_after)

    return answer


async def hangs(headers: Mapping[str, str]) -> DeliveryReply:
    """A server that takes connections and never answers: the client gives up after its limit."""
    await trio.sleep(10)
    raise TookTooLong("no answer in time")


async def followed_by(sim: Simulation, *hosts: str) -> tuple[Person, list[Foreigner]]:
    """An account with a follower on each of these hosts."""
    ada = await sim.account("ada")
    followers = [Foreigner(sim, "bob", host) for host in hosts]
    for one in followers:
        one.follows(sim, ada)
    return ada, followers


async def slowest(sim: Simulation, hanging: str | None) -> float:
    """Post for the followers on all hosts. Return the virtual seconds until the last working host had each post."""
    ada, followers = await followed_by(sim, *(f"h{number}.example" for number in range(HOSTS)))
    if hanging is not None:
        sim.answers[hanging] = hangs
    begun: dict[int, float] = {}
    for _ in range(POSTS):
        now = trio.current_time()
        begun[await ada.publish()] = now
        await trio.sleep(2)
    working = [one for one in sim.delivered if hanging is None or hanging not in one.inbox]
    assert len(working) == POSTS * (len(followers) - (hanging is not None))
    return max(one.at - begun[int(one.activity["object"]["id"].rpartition("/")[2])] for one in working)


@simulation(seeds=1, strategies=ONE, faults=0, world=with_servers)
async def test_fifty_working_servers_have_each_post_at_once(sim: Simulation) -> None:
    assert await slowest(sim, None) <= 0.5


@simulation(seeds=1, strategies=ONE, faults=0, world=with_servers)
async def test_one_that_hangs_among_fifty_delays_no_other(sim: Simulation) -> None:
    assert await slowest(sim, "h7.example") <= 0.5
    assert sim.database.rows(WAITING)[0]["number"] == POSTS, "which wait for the one that hangs"
    sim.answers.clear()
    await sim.actors.hosts.note_request_from("h7.example")
    await all_delivered(sim)


@simulation(seeds=1, strategies=ONE, faults=0, world=with_servers)
async def test_a_server_that_fails_is_left_alone_and_has_everything_when_it_is_back(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    asked: list[float] = []

    async def fails(headers: Mapping[str, str]) -> DeliveryReply:
        asked.append(trio.current_time())
        return DeliveryReply(503)

    sim.answers["b.example"] = fails
    posts = [await ada.publish() for _ in range(3)]
    await trio.sleep(3600)
    assert sim.logged("host.left_alone", host="b.example")
    assert len(asked) <= 25, "pauses double"
    (host,) = sim.database.rows("SELECT * FROM hosts")
    assert (host["host"], host["error"]) == ("b.example", "the host answered 503")
    assert host["failures"] == len(asked)
    del sim.answers["b.example"]
    await sim.actors.hosts.note_request_from("b.example")
    back = trio.current_time()
    await all_delivered(sim)
    ids = [int(one.activity["object"]["id"].rpartition("/")[2]) for one in sim.delivered]
    assert ids == posts, "in the order of their author"
    assert sim.delivered[-1].at - back <= 2, "what waited was sent when the host was heard from"
    (host,) = sim.database.rows("SELECT * FROM hosts")
    assert (host["failures"], host["closed_until"], host["error"]) == (0, None, None)
    assert sim.logged("host.back", host="b.example")


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_restart_forgets_no_server_that_is_left_alone(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    sim.answers["b.example"] = answers(503)
    await ada.publish()
    await trio.sleep(60)
    closed = await sim.actors.hosts.closed_until("b.example")
    await sim.stop()
    await sim.start()
    assert closed is not None
    assert await sim.actors.hosts.closed_until("b.example") == closed


@simulation(seeds=1, faults=0, world=with_servers)
async def test_an_answer_that_is_final_ends_the_tries(sim: Simulation) -> None:
    for status in (400, 403, 404, 405, 406, 410, 413, 415, 422, 501):
        number = f"{status}"
        person = await sim.account(f"ada{number}")
        follower = Foreigner(sim, "bob", f"h{number}.example")
        follower.follows(sim, person)
        sim.answers[f"h{number}.example"] = answers(status, 202)
        before = len(sim.delivered)
        await person.publish()
        await all_delivered(sim)
        # 400 may mean that the signature was not understood: it is sent once more with the other kind.
        assert len(sim.delivered) == before + (status == 400), status
    assert sim.logged("outbox.given_up", effect="delivery") == 9
    assert sim.gone == ["https://h410.example/inbox"]


@simulation(seeds=1, faults=0, world=with_servers)
async def test_an_answer_that_passes_is_followed_by_another_try(sim: Simulation) -> None:
    for status in (301, 302, 307, 308, 408, 425, 429, 500, 502, 503, 504, 520):
        person = await sim.account(f"ada{status}")
        follower = Foreigner(sim, "bob", f"h{status}.example")
        follower.follows(sim, person)
        sim.answers[f"h{status}.example"] = answers(status, 202)
        before = len(sim.delivered)
        await person.publish()
        await all_delivered(sim)
        assert len(sim.delivered) == before + 1, status
    bodies = {one.body for one in sim.delivered}
    assert len(bodies) == len(sim.delivered)
    assert sim.gone == ["https://h301.example/inbox", "https://h308.example/inbox"], "their actors are asked again"


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_connection_that_breaks_after_the_body_is_followed_by_another_try(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    sent: list[str] = []

    async def breaks_once(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.lowlevel.checkpoint()
        sent.append(headers["Digest"])
        if len(sent) == 1:
            raise BadAnswer("the answer is not HTTP, or there was none")
        return DeliveryReply(200)

    sim.answers["b.example"] = breaks_once
    await ada.publish()
    await all_delivered(sim)
    assert sent[0] == sent[1]
    assert len(sent) == 2


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_server_that_has_not_seen_a_new_key_yet_is_asked_again_later(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    sim.answers["b.example"] = answers(401, 401, 202)  # to both kinds of signatures
    await ada.publish()
    await all_delivered(sim)
    assert sim.logged("outbox.given_up", effect="delivery") == 0
    assert len(sim.delivered) == 1


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_server_that_reads_the_other_kind_of_signature_is_remembered(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    seen: list[str] = []

    async def reads_rfc9421(headers: Mapping[str, str]) -> DeliveryReply:
        names = {name.lower() for name in headers}
        seen.append("rfc9421" if "signature-input" in names else "cavage")
        return DeliveryReply(202 if seen[-1] == "rfc9421" else 401)

    sim.answers["b.example"] = reads_rfc9421
    await ada.publish()
    await all_delivered(sim)
    await ada.publish()
    await all_delivered(sim)
    assert seen == ["cavage", "rfc9421", "rfc9421"]
    assert sim.database.rows("SELECT signature_scheme FROM hosts")[0]["signature_scheme"] == "rfc9421"


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_time_that_a_server_names_is_kept(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    sim.answers["b.example"] = answers(429, 202, retry_after="120")
    begun = trio.current_time()
    await ada.publish()
    await all_delivered(sim)
    assert 120 <= sim.delivered[0].at - begun <= 130


@simulation(seeds=1, faults=0, world=with_servers)
async def test_a_domain_that_was_blocked_gets_nothing_more_not_even_what_waited(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example", "sub.c.example")
    sim.answers |= {"b.example": answers(500), "sub.c.example": answers(500, 202)}
    await ada.publish()

    async def block(db: Connection, domain: str) -> None:
        act = StaffAct.of(sim.actors.actor_context, db, COMMAND_LINE)
        await impose(act, ImposeDomainBlock(COMMAND_LINE, domain, DomainTerms("suspend")))
        await act.write_promises()

    for domain in ("b.example", "c.example"):
        sim.database.arrange(block, domain)
    await sim.actors.blocks.reload()
    await trio.sleep(5)
    await ada.publish()
    await all_delivered(sim)
    assert not sim.delivered


@simulation(seeds=1, faults=0, world=with_servers)
async def test_after_two_days_a_delivery_is_given_up(sim: Simulation) -> None:
    ada, _ = await followed_by(sim, "b.example")
    sim.answers["b.example"] = answers(500)
    await ada.publish()
    await trio.sleep(2)
    sim.database.arrange(age, DELIVERIES.give_up_after or timedelta.max)
    await all_delivered(sim)
    assert not sim.delivered
    assert sim.logged("outbox.given_up", effect="delivery") == 1


async def age(db: Connection, by: timedelta | None) -> None:
    await db.execute("UPDATE outbox SET created_at = created_at - $1::interval WHERE queue = 'deliveries'", by)


@simulation(seeds=1, faults=0, world=with_servers)
async def test_an_answer_to_a_person_is_sent_before_posts_for_followers(sim: Simulation) -> None:
    """Twelve authors have posts for a slow server, when somebody answers a person there."""
    people = await sim.people(*(f"p{number}" for number in range(12)))
    bob = Foreigner(sim, "bob", "b.example")
    for one in people[1:]:
        bob.follows(sim, one)

    async def slow(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.sleep(2)
        return DeliveryReply(202)

    sim.answers["b.example"] = slow
    for one in people[1:]:
        await one.publish()
    await people[0].publish("@bob@b.example")
    await all_delivered(sim)
    authors = [one.activity["actor"].rpartition("/")[2] for one in sim.delivered]
    assert "p0" in authors[:4]
