"""A whole server in one process, save the sockets: real PostgreSQL, real actors, Quart's test client for requests."""

import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.actors.cluster.others import Others
from troupe.actors.configuration import Settings
from troupe.actors.effects.mail import MAIL
from troupe.actors.effects.registry import QueueWithContext
from troupe.actors.federation.federation import Federation
from troupe.actors.federation.reception import Reception
from troupe.actors.kernel import Ids, Runtime, SystemClock
from troupe.actors.mail.sender import Letterhead, MailSender
from troupe.actors.mail.templates import Sender
from troupe.actors.media import processor
from troupe.actors.media.cleaning import Cleaning
from troupe.actors.media.processor import MediaProcessor
from troupe.actors.memory.push_key import PushKey, new_push_key
from troupe.actors.outbox import relay
from troupe.actors.outgoing.client import OutgoingClient
from troupe.actors.outgoing.mail_servers import UNKNOWN, MailServerLookup, MailServers
from troupe.actors.previews.reader import PageReader
from troupe.actors.push.delivery import WebPush
from troupe.actors.push.encryption import PushEncryption
from troupe.actors.rules import passwords
from troupe.actors.translation.libretranslate import translator_of
from troupe.http.access.context import HttpContext
from troupe.storage.engine.database import Unavailable
from troupe.storage.engine.pool import open_pool
from troupe.supervision.children.actor_system import ActorSystem
from troupe.supervision.children.queues import inbox_queue, lookup_queue, preview_queue, push_queue, refresh_queue
from troupe.supervision.settings.media_folders import media_folder

from ..buckets import new_bucket
from ..clients import CHEAP, STAFF, Client, Letterbox, Person, Stage
from ..kept_connections import Loan
from ..made_media import MadeMedia
from ..previews.site import Site, site
from ..signing import a_key
from ..two_paths import watched_paths
from .registering import app_client
from .serving import serving
from .sweeping import Sweeper

# Reading the system's roots takes a third of a test's time. The servers of these tests speak plain HTTP.
WITHOUT_ROOTS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

# Made once. How a server loads its key is tested in `tests/supervision`.
PUSH_KEY = new_push_key()

# Seconds between two rounds of a relay, in place of the product's quarter of a second: tests deliver one activity after
# the other and wait for each, so that they would spend most of their time in these pauses.
BETWEEN_ROUNDS = 0.02

# The files whose tests run with both stores of media.
BOTH_STORES = {"test_media", "test_files", "test_remote_files", "test_remote_films"}


@pytest.fixture
def options() -> dict[str, Any]:
    """Settings that differ from the defaults; tests override it. Links are previewed only where tests say so."""
    return {"rate_limits": False}


@pytest.fixture
def connections() -> int:
    """The size of the pool: two transactions may overlap. Each connection starts a process of PostgreSQL."""
    return 2


@pytest.fixture
def without_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no process started that finds out what confinement lacks: it takes longer than most tests.

    The tests of confinement (`tests/media`) and the end-to-end tests start servers that do.
    """

    async def nothing_missing(*_: object) -> list[str]:
        return []

    monkeypatch.setattr(processor, "probe", nothing_missing)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with sockets with the fast path and without it, others with a comparison; some with both stores too."""
    if "stage" not in metafunc.fixturenames:
        return
    chosen = str(metafunc.config.getoption("--fast-path"))
    ways = {chosen: chosen}  # the value of the fixture by its name in the id of the test
    if chosen == "both":
        ways = {"on": "on", "off": "off"} if "both_ways" in metafunc.fixturenames else {"both": "on"}
    if "media_store" in metafunc.fixturenames and metafunc.definition.path.stem in BOTH_STORES:
        # The bucket with one of the ways alone: files do not take the fast path.
        pairs = [*((way, "local") for way in ways), (next(iter(ways)), "s3")]
        values, names = [(ways[way], store) for way, store in pairs], ["-".join(pair) for pair in pairs]
        metafunc.parametrize(("fast_path", "media_store"), values, ids=names)
    else:
        metafunc.parametrize("fast_path", ways.values(), ids=ways.keys())


@pytest.fixture
def media_store() -> str:
    """Where the server keeps media."""
    return "local"


@pytest.fixture
def store_options(request: pytest.FixtureRequest, media_store: str) -> dict[str, Any]:
    """The settings of the store."""
    return new_bucket(request.getfixturevalue("s3_endpoint")) if media_store == "s3" else {}


@pytest.fixture
def fast_path() -> str:
    """Whether plain requests are answered without hypercorn. Both paths are compared if they are (`two_paths.py`)."""
    return "on"


@pytest.fixture
def both_ways(fast_path: str) -> None:
    """Run the test a second time without the fast path. Tests with sockets need it."""


@pytest.fixture
def other_nodes() -> Others | None:
    """The other nodes of the server's cluster; None if it is alone."""
    return None


@pytest.fixture
async def stage(
    loan: Loan,
    tmp_path: Path,
    options: dict[str, Any],
    connections: int,
    without_probe: None,
    media_made_once: MadeMedia,
    fast_path: str,
    store_options: dict[str, Any],
    other_nodes: Others | None,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Stage]:
    records: list[tuple[str, dict[str, object]]] = []

    def record(event: str, /, **facts: object) -> None:
        records.append((event, facts))

    monkeypatch.setattr(relay, "GATHER", BETWEEN_ROUNDS)
    monkeypatch.setattr(Cleaning, "run", _rest)
    monkeypatch.setattr(passwords, "HASHER", CHEAP)
    monkeypatch.setattr(passwords, "COST", CHEAP.time_cost * CHEAP.memory_cost)
    clock = SystemClock()
    ids, runtime = Ids(clock), Runtime(record=record, chance=lambda: 0.5, unavailable=(Unavailable,))
    options.setdefault("link_previews", False)
    options.setdefault("fast_path", fast_path)
    settings = Settings(data=tmp_path, **(store_options | options))
    async with watched_paths(), open_pool(loan.dsn, size=connections) as pool, trio.open_nursery() as nursery:
        stopping, push_key = trio.Event(), PushKey()
        push_key.hold(PUSH_KEY)
        letterbox, folder = Letterbox(), media_folder(settings, settings.node)
        head = Letterhead(Sender(settings.mail_sender, settings.title), settings.base_url)
        post = MailSender(pool, clock, head, letterbox, secret=_secrets())
        outgoing = OutgoingClient("Troupe/test", test_hosts=settings.test_hosts, resolve=_elsewhere, tls=WITHOUT_ROOTS)
        acting = ActorSystem(
            pool, runtime, clock, ids, record, base_url=settings.base_url, local_domain=settings.local_domain,
            limited_federation=settings.limited_federation,
            folder=folder, others=None if other_nodes is None else lambda facts, publications: other_nodes,
        )  # fmt: skip
        push = WebPush(outgoing, PushEncryption(push_key, clock, settings.push_contact))
        acting.outbox.add(QueueWithContext(MAIL, post))
        acting.outbox.add(push_queue(acting, record, push))
        media = MediaProcessor(
            pool, runtime, clock, record, acting.outbox, folder, acting.actor_context.others,
            key=lambda: secrets.token_hex(16),
        )  # fmt: skip
        if settings.link_previews:
            acting.outbox.add(preview_queue(acting, PageReader(outgoing, media, clock, settings.languages)))
        federation = Federation(acting.actor_context, runtime, outgoing, record, a_key)
        acting.outbox.add(inbox_queue(acting, federation))
        acting.outbox.add(refresh_queue(acting, federation))
        acting.outbox.add(lookup_queue(acting, federation))
        for child in (*acting.children(), *acting.relays()):
            await nursery.start(child.run, stopping)
        await nursery.start(media.run, stopping)
        if (translator := translator_of(settings)) is not None:
            await nursery.start(translator.run, stopping)
        http_context = HttpContext(
            settings=settings, database=pool, runtime=runtime, clock=clock, ids=ids, record=record,
            secret=_secrets(), push_key=push_key, accounts=acting.accounts,
            statuses=acting.statuses, facts=acting.facts, viewers=acting.viewers,
            withdrawals=acting.withdrawals, blocks=acting.blocks, media=media, outgoing=outgoing,
            federation=federation,
            reception=Reception(acting.actor_context, federation.directory, federation.resolver.check_later),
            mail_servers=MailServerLookup(settings.dns_servers) if settings.dns_servers else _no_answer,
            translator=translator,
        )  # fmt: skip
        http_context.readiness.phase = "serving"
        nursery.start_soon(http_context.readiness.run)
        await nursery.start(http_context.federation.resolver.run, stopping)
        await nursery.start(http_context.remote_files.films.run, stopping)
        yield Stage(
            http_context, letterbox, acting.outbox, records,
            fast_path=settings.fast_path == "on", both_ways="both_ways" in request.fixturenames,
        )  # fmt: skip
        stopping.set()
        loan.over = True
        nursery.cancel_scope.cancel()


async def _rest(self: Cleaning) -> None:
    """Clean nothing by the clock: at its start a test has nothing to clean. Tests of the cleaning call it."""
    await trio.sleep_forever()


async def _no_answer(domain: str, network: str) -> MailServers:
    """Look mail servers up without a network."""
    return UNKNOWN


async def _elsewhere(host: str, port: int) -> Sequence[str]:
    """Look names up without a network. Test hosts, and names that begin with `inside`, lead to this machine."""
    return ["127.0.0.1" if host.startswith("inside") or host.endswith(".test") else "93.184.216.34"]


def _secrets() -> Callable[[], str]:
    return lambda: secrets.token_urlsafe(32)


@pytest.fixture
async def ada(stage: Stage) -> Person:
    return await stage.person("ada")


@pytest.fixture
async def bob(stage: Stage) -> Person:
    return await stage.person("bob")


@pytest.fixture
async def cyd(stage: Stage) -> Person:
    return await stage.person("cyd")


@pytest.fixture
async def eve(stage: Stage) -> Person:
    return await stage.person("eve")


@pytest.fixture
async def crowd(stage: Stage) -> list[Person]:
    """As many people as a trend needs."""
    return [await stage.person(f"fan{number}") for number in range(5)]


@pytest.fixture
async def mod(stage: Stage) -> Person:
    return await stage.person("mod", STAFF, role="moderator")


@pytest.fixture
async def adm(stage: Stage) -> Person:
    return await stage.person("adm", STAFF, role="admin")


@pytest.fixture
async def app(stage: Stage) -> Client:
    """An app without a user."""
    return await app_client(stage)


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    """A site whose pages and files this server fetches."""
    async with site() as one:
        yield one


@pytest.fixture
def sweeper(stage: Stage) -> Sweeper:
    return Sweeper(stage)


@pytest.fixture
async def port(stage: Stage, both_ways: None) -> AsyncIterator[int]:
    async with serving(stage) as server:
        yield server.port
