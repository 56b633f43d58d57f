"""However often an app sends it, one Idempotency-Key makes one status."""

from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.stage import Simulation, stage

LOST_ANSWERS = frozenset({Fault.DOUBT_DONE, Fault.DOUBT_UNDONE, Fault.LOST, Fault.CRASH_AFTER})


@simulation(seeds=12, at_most=40, faults=Budget(3, LOST_ANSWERS), pinned=[(1, "random"), (13, "random")], world=stage)
async def test_retries_with_one_key_make_one_status(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    answers: list[int] = []

    async def send() -> None:
        answers.append(await ada.publish("hello", key="the key"))

    async with sim.together() as go:
        for device in ("phone", "laptop", "watch"):
            go(send, name=device)
    seen_at_once = await bob.home()
    await ada.publish("the next")
    await sim.calm()

    assert len(set(answers)) == 1
    assert seen_at_once == answers[:1], "who was answered finds it in the timeline"
    assert stream.pushed == ada.published
    assert len(sim.database.rows("SELECT FROM statuses")) == 2
    sim.sometimes(sim.late > 0, "the outbox told what a crash had left")
    sim.sometimes(sim.logged("actor.crashed", actor=f"account/{ada.id}") > 0, "the author crashed")
