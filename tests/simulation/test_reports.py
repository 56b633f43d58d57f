"""Reports: filed while their statuses are deleted, while their account is moderated, and handled by two at once."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import pytest

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.moderation import Action, ModerateAccount
from troupe.actors.commands.report_handling import AssignReport, ReopenReport, ResolveReport
from troupe.actors.commands.reports import FileReport
from troupe.actors.kernel import Refused
from troupe.actors.staff.acts import Staff
from troupe.storage import reports
from troupe.storage.engine.database import Connection
from troupe.storage.upkeep import expiry
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, insist, stage

T = TypeVar("T")

with_mail = partial(stage, mail=True)

REPORTS = "SELECT id, status_ids, action_taken_at, action_taken_by_account_id, assigned_account_id FROM reports"
STATUSES = "SELECT id FROM statuses ORDER BY id"
TOLD = "SELECT report_id FROM notifications WHERE account_id = $1 AND type = 'admin.report'"
LOGGED = "SELECT actor_id, action FROM audit_log WHERE target_type = 'report' ORDER BY id"
LATER = "SELECT now() + interval '1 year' AS later"


async def moderators(sim: Simulation, *names: str) -> list[Person]:
    people = await sim.people(*names)
    sim.database.arrange(_promote, [one.id for one in people])
    return list(people)


async def _promote(db: Connection, ids: list[int]) -> None:
    await db.execute("UPDATE users SET role = 'moderator' WHERE account_id = ANY($1::bigint[])", ids)


async def answered(work: Awaitable[T]) -> T | Refused:
    try:
        return await work
    except Refused as refusal:
        return refusal


def moderate(sim: Simulation, mod: Person, target: Person, action: Action) -> Callable[[], Awaitable[object]]:
    message = ModerateAccount(Staff(mod.id, mod.name), action)
    address = account_address(target.id)
    return lambda: insist(sim, mod.name, lambda: sim.runtime.ask(address, message, origin=mod.origin))


def sweep(sim: Simulation) -> list[int]:
    """Erase what was deleted at any time. Return the statuses that are left."""
    later = sim.database.rows(LATER)[0]["later"]
    sim.database.arrange(expiry.STATUSES.run, later, 100)
    return [row["id"] for row in sim.database.rows(STATUSES)]


@simulation(seeds=20, at_most=40, faults=3, world=with_mail)
async def test_a_status_that_is_reported_and_deleted_at_once_is_kept_if_the_report_is(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    (mod,) = await moderators(sim, "mod")
    stream = await mod.stream()
    status = await bob.publish("look at this")
    outcome: list[object] = []

    async def file() -> None:
        outcome.append(await answered(ada.insist(FileReport(bob.id, (status,)))))

    async with sim.together() as go:
        go(file, name="ada")
        go(bob.delete, status, name="bob")
    await sim.calm()

    stored = sim.database.rows(REPORTS)
    assert len(stored) >= (0 if isinstance(outcome[0], Refused) else 1)
    assert sweep(sim) == ([status] if stored else [])
    assert len(sim.database.rows(TOLD, mod.id)) == bool(stored)
    assert len(stream.notified) <= bool(stored), "a stream that was cut misses it"
    sim.sometimes(bool(stream.notified), "the stream showed it")
    sim.sometimes(bool(stored), "the report was first")
    sim.sometimes(not stored, "the deletion was first")
    for report in stored:
        sim.database.arrange(reports.close, report["id"], mod.id, sim.run.clock.now())
    assert sweep(sim) == []


@pytest.mark.parametrize("action", ["suspend", "silence"])
@simulation(seeds=16, faults=3, pinned=[(9, "random")], world=with_mail)
async def test_no_report_from_before_an_action_stays_open(sim: Simulation, action: Action) -> None:
    ada, eve, bob = await sim.people("ada", "eve", "bob")
    (mod,) = await moderators(sim, "mod")

    async with sim.together() as go:
        go(lambda: answered(ada.insist(FileReport(bob.id))), name="ada")
        go(lambda: answered(eve.insist(FileReport(bob.id))), name="eve")
        go(moderate(sim, mod, bob, action), name="mod")
    await sim.calm()

    suspended = "SELECT coalesce(suspended_at, silenced_at) AS at FROM accounts WHERE id = $1"
    assert sim.database.rows(suspended, bob.id)[0]["at"] is not None
    stored = sim.database.rows(REPORTS)
    still_open = [row for row in stored if row["action_taken_at"] is None]
    if action == "suspend":
        assert still_open == []
    sim.sometimes(len(stored) > len(still_open), "a report was resolved by the action")
    told = sim.database.rows(TOLD, mod.id)
    # Without an answer the moderator acts again, so that an action may have been committed twice.
    acts = len(sim.database.rows("SELECT id FROM strikes"))
    assert len(told) <= 1 + (acts if action == "silence" else 0), "once before each action, once after the last"


@simulation(seeds=20, faults=3, world=with_mail)
async def test_of_two_moderators_the_first_resolves_and_each_act_is_logged_once(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    mods = await moderators(sim, "mod", "chief")
    report = await ada.insist(FileReport(bob.id))
    stored = sim.database.rows(REPORTS)

    async with sim.together() as go:
        for mod in mods:
            go(mod.insist, ResolveReport(Staff(mod.id, mod.name), report.id), name=f"{mod.name} resolves")
            go(mod.insist, AssignReport(Staff(mod.id, mod.name), report.id, mod.id), name=f"{mod.name} takes it")
    await sim.calm()

    row = next(row for row in sim.database.rows(REPORTS) if row["id"] == report.id)
    logged = [(one["action"], one["actor_id"]) for one in sim.database.rows(LOGGED)]
    assert [by for action, by in logged if action == "resolve"] == [row["action_taken_by_account_id"]]
    assert [by for action, by in logged if action == "assign"][-1] == row["assigned_account_id"]
    sim.sometimes(row["action_taken_by_account_id"] != mods[0].id, "the second was faster")
    reopened = await mods[0].insist(ReopenReport(Staff(mods[0].id, "mod"), report.id))
    assert (reopened.action_taken_at, reopened.action_taken_by_account_id) == (None, None)
    assert len(stored) == len(sim.database.rows(REPORTS))
