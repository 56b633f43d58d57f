"""Crashes of every process at any time: an acknowledged status is, once, on every timeline that it belongs to."""

import fcntl
import os
import random
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trio

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import Embedded, embedded

from ..mail.mailserver import HOST, mail_server
from .apps import registered_app
from .load import Ledger, Reader, Site, Writer, home_of
from .server import PASSWORD, Person, Server, follow

KILLS = 10
SEED = 2026
EVE = "eve@example.org"
# A kill comes after so many more acknowledged statuses: right after a restart, or when everything is warm.
FEWEST, MOST = 1, 25
# Half a minute on a quiet machine, most of it the starting of servers.
DEADLINE = 240


pytestmark = pytest.mark.timeout(DEADLINE + 30)


async def test_a_server_killed_ten_times_loses_nothing_and_doubles_nothing(new_server: Server) -> None:
    site, chance = Site(new_server), random.Random(SEED)
    await site.start()
    ada, eve, bob, carol = await people(new_server)
    reader = Reader(site, bob)
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            await nursery.start(reader.work)
            async with load(site, [ada, eve]) as (ledger, writers):
                for _ in range(KILLS):
                    await ledger.more(chance.randint(FEWEST, MOST))
                    await site.kill()
                    await site.start()
                await ledger.more(MOST)
            await site.until(lambda: set(ledger.acknowledged) <= set(reader.known))
            nursery.cancel_scope.cancel()
        assert [writer.wrong for writer in writers if writer.wrong] == []
        assert set(reader.known) == set(ledger.acknowledged)
        assert reader.repeated == []
        assert reader.connections > 2
        for person in (bob, carol):
            await check_home(person, ledger.acknowledged)
        for author in (ada, eve):
            written = {id: text for id, text in ledger.acknowledged.items() if text.startswith(author.name)}
            await check_home(author, written)
            assert author.app.account_verify_credentials().statuses_count == len(written)
    assert new_server.stop() == 0


def test_a_mail_that_was_under_way_when_the_server_was_killed_is_sent_again(own_server: Server) -> None:
    """Also if its claim has not ended: the server that starts is the only one and gives back all claims."""
    with mail_server() as post:
        post.silent = True
        own_server.settings |= {
            "TROUPE_REGISTRATIONS": "open",
            "TROUPE_SMTP_HOST": HOST,
            "TROUPE_SMTP_PORT": str(post.port),
            "TROUPE_SMTP_TLS": "none",
        }
        own_server.start()
        url = own_server.url
        scopes = ["read", "write"]
        app = registered_app(url, scopes)
        app.create_account("eve", PASSWORD, EVE, agreement=True, scopes=scopes)
        first = post.receive(EVE)
        own_server.kill()
        post.silent = False
        with embedded(own_server.data) as postgres:
            assert transact_once(postgres.dsn, prolong_claims) == 1
        own_server.start()
        again = post.receive(EVE, 2)
        assert again.mail["Message-ID"] == first.mail["Message-ID"], "mail servers leave the second one out"
    assert own_server.stop() == 0


async def test_a_server_starts_its_dead_postgresql_again_and_works_on_by_itself(own_server: Server) -> None:
    site = Site(own_server)
    await site.start()
    ada, eve, bob, carol = await people(own_server)
    with trio.fail_after(DEADLINE), embedded(own_server.data) as postgres:
        async with load(site, [ada, eve]) as (ledger, writers):
            for take_down in (Embedded.stop, kill_postgresql(own_server.data)):
                await ledger.more(MOST)
                with kept_down(own_server.data):
                    await trio.to_thread.run_sync(take_down, postgres)
                    for writer in writers:
                        writer.refused = 0
                    await site.until(lambda: any(writer.refused for writer in writers))
            await ledger.more(MOST)
        assert [writer.wrong for writer in writers if writer.wrong] == []
        for person in (bob, carol):
            await check_home(person, ledger.acknowledged)
    for unwanted in ("child.crashed", "request.failed", "actor.quarantined", "message.parked"):
        assert own_server.events(unwanted) == []
    assert all(record["error"] for record in own_server.events("storage.lost"))
    assert all(record["error"] for record in own_server.events("connection.lost"))
    for wanted in ("storage.lost", "connection.lost", "storage.restarted", "storage.back"):
        assert own_server.events(wanted), wanted
    assert own_server.stop() == 0


async def prolong_claims(db: Connection) -> int:
    return len(await db.fetch("UPDATE outbox SET claimed_until = claimed_until + interval '1 day' RETURNING id"))


async def people(server: Server) -> list[Person]:
    """Two authors and two who follow both of them."""
    ada, eve, bob, carol = await trio.to_thread.run_sync(server.people, "ada", "eve", "bob", "carol")
    for follower in (bob, carol):
        await trio.to_thread.run_sync(follow, follower, [ada, eve])
    return [ada, eve, bob, carol]


@asynccontextmanager
async def load(site: Site, authors: list[Person]) -> AsyncGenerator[tuple[Ledger, list[Writer]]]:
    """Two writers an author. At the end each has been told of everything that it wrote."""
    ledger = Ledger(site)
    writers = [Writer(site, author, number) for author in authors for number in range(2)]
    async with trio.open_nursery() as nursery:
        for writer in writers:
            nursery.start_soon(writer.work, ledger)
        yield ledger, writers
        ledger.closed = True


async def check_home(person: Person, acknowledged: dict[str, str]) -> None:
    """The whole timeline: what was acknowledged and nothing else, each once, the newest first."""
    home = [(status["id"], status["content"]) for status in await home_of(person)]
    newest_first = sorted(acknowledged, key=int, reverse=True)
    assert home == [(id, f"<p>{acknowledged[id]}</p>") for id in newest_first]
    assert len(set(acknowledged.values())) == len(acknowledged)


@contextmanager
def kept_down(data: Path) -> Generator[None]:
    """Hold the lock that starting PostgreSQL takes, so that the server can't have it back before we have seen 503."""
    with (data / "postgres.lock").open("r+") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        yield


def kill_postgresql(data: Path) -> Callable[[Embedded], None]:
    """How PostgreSQL goes when the machine has no memory left."""

    def kill(_: Embedded) -> None:
        postmaster = int((data / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)

    return kill
