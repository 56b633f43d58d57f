"""One cause leads to a bounded number of requests, with all work that follows from it later."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from troupe.actors.federation import budgets
from troupe.actors.federation.background_jobs import BackgroundJobs
from troupe.actors.federation.budgets import BudgetSpent, Cause, FetchBudget, caused_by, is_spent, spend
from troupe.actors.federation.flights import Flights

from ..clients import Person, Stage
from .delivering import HOME, create, note, take
from .finding import search, until_done
from .peer import ForeignServer


async def chain(stage: Stage, peer: ForeignServer, length: int) -> int:
    """Deliver an answer at the end of a thread, each post of another author, and return how much was asked for."""
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve, 99, cc=[f"{HOME}/users/ada"])))
    await until_done(stage)
    below = None
    for number in range(length):
        author = peer.person(f"author{number}", f"host{number % 2}.peer.test")
        below = peer.note(author, f"/notes/{number}", inReplyTo=below and below["id"])
    assert below is not None
    before = len(peer.peer.asked)
    answer = note(eve, 1, cc=[f"{HOME}/users/ada"], inReplyTo=below["id"])
    peer.serve(answer["id"], answer)
    await take(stage, create(eve, answer))
    await until_done(stage)
    return len(peer.peer.asked) - before


async def test_class_18_one_activity_leads_to_so_many_requests_and_no_more(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "REQUESTS", 12)
    assert await chain(stage, peer, 8) == 12
    assert len(await stage.rows("SELECT id FROM statuses")) >= 2, "the activity itself is applied"


async def test_what_a_person_looks_for_has_a_budget_of_its_own(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "REQUESTS", 12)
    await chain(stage, peer, 8)
    assert len(await search(ada, peer.person("oscar", "other.test")["id"])) == 1


async def test_class_18_a_chain_of_later_work_has_an_end(autojump_clock: trio.testing.MockClock) -> None:
    done: list[int] = []
    jobs = BackgroundJobs(lambda event, **facts: None)
    stopping = trio.Event()

    def lead_on(number: int) -> None:
        async def work() -> None:
            done.append(number)
            if number < 50:
                lead_on(number + 1)

        jobs.add("work", f"https://host{number}.test/", work)

    async with trio.open_nursery() as nursery:
        await nursery.start(jobs.run, stopping)
        lead_on(1)
        await trio.sleep(1)
        stopping.set()
    assert done == [*range(1, budgets.DEEPEST + 2)]
    assert len(jobs) == 0


async def test_later_work_spends_the_budget_of_its_cause(autojump_clock: trio.testing.MockClock) -> None:
    jobs = BackgroundJobs(lambda event, **facts: None)
    stopping = trio.Event()
    budget = FetchBudget(3)
    refused: list[BudgetSpent] = []

    async def work() -> None:
        try:
            for _ in range(9):
                spend()
        except BudgetSpent as error:
            refused.append(error)

    async with trio.open_nursery() as nursery:
        await nursery.start(jobs.run, stopping)
        with caused_by(Cause(budget)):
            jobs.add("work", "https://one.test/", work)
            jobs.add("work", "https://two.test/", work)
        await trio.sleep(1)
        with caused_by(Cause(budget)):
            jobs.add("work", "https://three.test/", work)
        assert len(jobs) == 0, "a cause that has spent its budget leads to no more work"
        stopping.set()
    assert (budget.left, len(refused)) == (0, 2)


async def test_work_that_two_callers_want_goes_on_for_the_one_who_has_a_budget(
    autojump_clock: trio.testing.MockClock,
) -> None:
    flights: Flights[str] = Flights()
    stopping, found = trio.Event(), dict[str, str | None]()

    async def work() -> str:
        await trio.sleep(1)
        spend()
        return "found"

    async def caller(name: str, budget: int) -> None:
        with caused_by(Cause(FetchBudget(budget))):
            try:
                found[name] = await flights.join("key", work)
            except BudgetSpent:
                found[name] = None
            assert is_spent()

    async with trio.open_nursery() as nursery:
        await nursery.start(flights.run, stopping)
        async with trio.open_nursery() as callers:
            callers.start_soon(caller, "poor", 0)
            await trio.sleep(0.1)
            callers.start_soon(caller, "rich", 1)
        stopping.set()
    assert found == {"poor": None, "rich": "found"}
