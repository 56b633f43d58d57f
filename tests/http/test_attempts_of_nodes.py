"""Guesses, sign-ups and mails of several nodes: all of them together have the limit, to the last attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import trio

from troupe.actors.cluster.counts import SharedCounts
from troupe.actors.cluster.others import Alone, CountsOfNodes, Others
from troupe.actors.kernel import SystemClock
from troupe.http.access import cluster_rates
from troupe.http.access.cluster_rates import RatesOfNodes, StoredRates
from troupe.http.access.rates import (
    CONFIRMATIONS_OF_USER,
    FAILED_CODES,
    FAILED_SIGN_INS,
    FAILED_SIGN_INS_OF_ACCOUNT,
    NEW_ACCOUNTS,
    CountedAttempt,
    RateLimits,
    RateRule,
    Rates,
)
from troupe.storage import rate_counts
from troupe.storage.oauth import Application

from ..clients import PASSWORD, Person, Reply, Stage
from .guessing import Guest
from .registering import ACCOUNTS, app_client, form
from .settling import Browser
from .signing_in import CALLBACK, SECRET

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.{}"
START = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
THREE = RateRule("three", 3, 300)


class Node(Alone):
    """The place of a node whose bus is down: it hears from no other node."""

    def __init__(self) -> None:
        self.counts: CountsOfNodes | None = SharedCounts(lambda body: None, list, SystemClock().now)


class Nodes:
    """Several nodes on the database of a stage. Its requests go to the node that was chosen last."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.limits = [stage.http_context.limits, *(self._limits() for _ in range(2))]

    def _limits(self) -> RateLimits:
        http_context = self._stage.http_context
        rates = RatesOfNodes(SharedCounts(lambda body: None, list, http_context.clock.now))
        stored = StoredRates(http_context.database)
        return RateLimits(Rates(), http_context.clock, http_context.settings, rates, stored)

    def go_to(self, number: int) -> None:
        self._stage.http_context.limits = self.limits[number % len(self.limits)]

    def restart(self, number: int) -> None:
        """Replace a node by one that has counted nothing."""
        self.limits[number] = self._limits()


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": True, "password_grant": True, "registrations": "open", "smtp_host": "localhost"}


@pytest.fixture
def other_nodes() -> Others:
    return Node()


@pytest.fixture
def nodes(stage: Stage) -> Nodes:
    return Nodes(stage)


@pytest.fixture
async def application(stage: Stage) -> Application:
    return await stage.application(SECRET, redirect_uris=(CALLBACK,))


@pytest.fixture
def count_statements(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """Return the number of statements on the table since the last call."""
    found: Counter[str] = Counter()

    def counted(name: str) -> None:
        work = getattr(rate_counts, name)

        async def count_and_run(*args: Any) -> Any:
            found[name] += 1
            return await work(*args)

        monkeypatch.setattr(rate_counts, name, count_and_run)

    for name in ("count", "take_back", "delete_ended"):
        counted(name)

    def since() -> Counter[str]:
        taken = Counter(found)
        found.clear()
        return taken

    return since


async def test_guesses_at_an_account_are_counted_on_all_nodes(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    for number in range(FAILED_SIGN_INS_OF_ACCOUNT.limit):
        nodes.go_to(number)
        guest = Guest(stage, application, ELSEWHERE.format(number // 10))
        assert (await guest.grant("bob", "wrong")).status == 400
    for number in range(3):
        nodes.go_to(number)
        assert (await Guest(stage, application, ELSEWHERE.format(1)).grant("bob", PASSWORD)).status == 429
        owner = Guest(stage, application, HERE)
        assert (await owner.grant("bob", PASSWORD)).status == 200
        assert await owner.page("bob", PASSWORD) == 302


async def test_an_address_has_its_guesses_once(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    guest, answers = Guest(stage, application, HERE), list[Reply]()
    for number in range(FAILED_SIGN_INS.limit + 3):
        nodes.go_to(number)
        answers.append(await guest.grant(f"user{number}", "wrong"))
    assert [answer.status for answer in answers] == [400] * FAILED_SIGN_INS.limit + [429] * 3
    assert answers[-1].headers["X-RateLimit-Limit"] == str(FAILED_SIGN_INS.limit)
    assert answers[-1].headers["X-RateLimit-Remaining"] == "0"


async def test_guesses_at_the_same_time_are_all_counted(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    statuses: list[int] = []

    async def guess(number: int) -> None:
        nodes.go_to(number)
        statuses.append((await Guest(stage, application, HERE).grant("bob", "wrong")).status)

    async with trio.open_nursery() as nursery:
        for number in range(FAILED_SIGN_INS.limit + 20):
            nursery.start_soon(guess, number)
    assert Counter(statuses) == {400: FAILED_SIGN_INS.limit, 429: 20}


async def test_a_restart_of_all_nodes_forgives_nothing(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    guest = Guest(stage, application, HERE)
    for number in range(FAILED_SIGN_INS.limit):
        nodes.restart(number % 3)
        nodes.go_to(number)
        assert (await guest.grant("bob", "wrong")).status == 400
    nodes.restart(0)
    nodes.go_to(0)
    assert (await guest.grant("bob", PASSWORD)).status == 429


async def test_right_passwords_are_not_counted(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    guest = Guest(stage, application, HERE)
    assert (await guest.grant("bob", "wrong")).status == 400
    for number in range(FAILED_SIGN_INS_OF_ACCOUNT.limit + 5):
        nodes.go_to(number)
        assert (await guest.grant("bob", PASSWORD)).status == 200
    assert await stage.rows("SELECT used FROM rate_counts ORDER BY used") == [[1], [1], [1]], "the wrong one alone"


async def test_a_client_beyond_its_limit_causes_no_statements(
    stage: Stage, nodes: Nodes, bob: Person, application: Application, count_statements: Callable[[], Counter[str]]
) -> None:
    guest = Guest(stage, application, HERE)
    for number in range(FAILED_SIGN_INS.limit * 3):
        nodes.go_to(number)
        await guest.grant("bob", "wrong")
    count_statements()
    for number in range(30):
        nodes.go_to(number)
        assert (await guest.grant("bob", "wrong")).status == 429
    assert not count_statements()


async def test_codes_are_counted_on_all_nodes(stage: Stage, nodes: Nodes, bob: Person) -> None:
    for number in range(FAILED_CODES.limit):
        made = await nodes.limits[number % 3].attempt(FAILED_CODES, bob.id)
        assert not made.status.exceeded
    made = await nodes.limits[1].attempt(FAILED_CODES, bob.id)
    assert made.status.exceeded
    await nodes.limits[1].take_back([made])
    assert (await nodes.limits[2].attempt(FAILED_CODES, bob.id)).status.exceeded


async def test_sign_ups_are_counted_on_all_nodes(stage: Stage, nodes: Nodes) -> None:
    app, statuses = await app_client(stage), list[int]()
    for number in range(NEW_ACCOUNTS.limit + 2):
        nodes.go_to(number)
        statuses.append((await app.post(ACCOUNTS, form(f"user{number}"))).status)
    assert statuses == [200] * NEW_ACCOUNTS.limit + [429] * 2


async def test_mails_are_counted_on_all_nodes(stage: Stage, nodes: Nodes, bob: Person) -> None:
    statuses: list[int] = []
    for number in range(CONFIRMATIONS_OF_USER.limit + 2):
        nodes.go_to(number)
        statuses.append((await Browser(stage).send("/auth/password/new", email="bob@example.org")).status)
    assert statuses[-2:] == [429, 429]
    assert 429 not in statuses[:-2]


async def test_rows_whose_window_is_over_are_deleted(
    stage: Stage, nodes: Nodes, monkeypatch: pytest.MonkeyPatch, count_statements: Callable[[], Counter[str]]
) -> None:
    monkeypatch.setattr(cluster_rates, "SWEEP_EVERY", 10)
    stored = StoredRates(stage.http_context.database)
    for number in range(9):
        await stored.count(THREE, f"client {number}", START)
    assert not count_statements()["delete_ended"]
    await stored.count(THREE, "another", START + timedelta(seconds=300))
    assert count_statements()["delete_ended"] == 1
    assert await stage.rows("SELECT count(*) FROM rate_counts") == [[1]]


async def test_a_clock_that_is_behind_does_not_begin_the_window_again(stage: Stage) -> None:
    stored = StoredRates(stage.http_context.database)
    late = START + timedelta(seconds=300)
    statuses = [await stored.count(THREE, "ada", now) for now in (START, late, START, late, START)]
    assert [status.remaining for status in statuses] == [2, 2, 1, 0, -1]
    assert [status.reset - int(late.timestamp()) for status in statuses] == [0, 300, 300, 300, 300]
    assert (await stored.count(THREE, "ada", late + timedelta(seconds=300))).remaining == 2


async def test_an_attempt_that_is_taken_back_after_its_window_takes_nothing_of_the_next(stage: Stage) -> None:
    stored = StoredRates(stage.http_context.database)
    late = START + timedelta(seconds=300)
    early = await stored.count(THREE, "ada", START)
    assert (await stored.count(THREE, "ada", late)).remaining == 2
    await stored.take_back([CountedAttempt(THREE, "ada", early, early)])
    now = await stored.count(THREE, "ada", late)
    assert now.remaining == 1
    await stored.take_back([CountedAttempt(THREE, "ada", now, now), CountedAttempt(THREE, "bob", now, now)])
    assert (await stored.count(THREE, "ada", late)).remaining == 1


async def test_rows_name_no_address_and_no_login(
    stage: Stage, nodes: Nodes, bob: Person, application: Application
) -> None:
    await Guest(stage, application, HERE).grant("bob@example.org", "wrong")
    rows = str(await stage.rows("SELECT rate_counts::text, encode(key, 'escape') FROM rate_counts"))
    assert "bob" not in rows
    assert HERE not in rows


async def test_a_node_hashes_one_password_at_a_time(stage: Stage) -> None:
    assert stage.http_context.passwords.total_tokens == 1


class TestAlone:
    @pytest.fixture
    def other_nodes(self) -> Others | None:
        return None

    async def test_a_server_that_is_alone_counts_in_memory(
        self, stage: Stage, bob: Person, application: Application, count_statements: Callable[[], Counter[str]]
    ) -> None:
        app = await app_client(stage)
        assert (await app.post(ACCOUNTS, form("eve"))).status == 200
        assert (await Guest(stage, application, HERE).grant("bob", "wrong")).status == 400
        assert (await Guest(stage, application, HERE).grant("bob", PASSWORD)).status == 200
        assert not count_statements()
        assert stage.http_context.passwords.total_tokens == 2
