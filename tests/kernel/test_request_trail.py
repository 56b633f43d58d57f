"""The request trail: what a request led to, as a tree; bounded, and without contents."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Crashed, Origin, Refused
from troupe.actors.kernel.request_trail import MOST_LASTING, MOST_PLAIN, SLICE, RequestTrail, Step

from .acting import Kernel, Player

REQUEST = Origin("r1")


async def steps_of(kernel: Kernel, request_id: str = "r1") -> list[Step]:
    return await kernel.runtime.inspection.request(request_id)


def shape(steps: list[Step]) -> list[Any]:
    """The names and places of steps, each with what it led to."""
    return [(f"{step.what} {step.name} at {step.where}", shape(step.steps)) for step in steps]


async def test_turns_are_under_those_that_sent_their_messages(kernel: Kernel) -> None:
    async def lead(player: Player) -> None:
        await player.ask_player("b", lambda other: other.tell_player("c", lambda third: None))
        player.tell_player("d", lambda other: None)

    await kernel.ask("a", lead, origin=REQUEST)
    await kernel.ask("a", lambda player: None, origin=Origin("r2"))
    await wait_all_tasks_blocked()
    turn = "turn Do at player/{}".format
    assert shape(await steps_of(kernel)) == [
        (turn("a"), [(turn("b"), [(turn("c"), [])]), (turn("d"), [])]),
    ]  # fmt: skip


async def test_a_request_comes_first_and_what_lost_its_cause_is_under_it(kernel: Kernel) -> None:
    trail = kernel.runtime.trail
    trail.note(("effect", 2.0, 3.0, "delivery", "far.example", None, "r1", ("Publish#9 at account/1",), "put off: X"))
    trail.note(("request", 1.0, 1.5, "/api/v1/statuses", "POST", None, "r1", (), ""))
    (request,) = await steps_of(kernel)
    assert shape([request]) == [
        ("request /api/v1/statuses at POST", [("effect delivery at far.example", [])]),
    ]  # fmt: skip
    assert (request.seconds, request.steps[0].outcome) == (0.5, "put off: X")
    assert request.ago - request.steps[0].ago == pytest.approx(1)


async def test_transactions_are_under_their_turn(kernel: Kernel) -> None:
    trail = kernel.runtime.trail
    trail.note(("transaction", 2.0, 3.0, "insert", Address("account", "1"), 9, "r1", (), ""))
    trail.note(("turn", 1.0, 4.0, "Publish", Address("account", "1"), 9, "r1", (), ""))
    trail.note(("effect", 5.0, 6.0, "mail", "mail", None, "r1", ("Publish#9 at account/1",), ""))
    assert shape(await steps_of(kernel)) == [
        ("turn Publish at account/1", [("transaction insert at account/1", []), ("effect mail at mail", [])])
    ]


async def test_a_step_says_how_it_ended(kernel: Kernel) -> None:
    async def refuse(player: Player) -> Refused:
        await trio.sleep(3)
        return Refused(422, "no")

    with pytest.raises(Refused):
        await kernel.ask("a", refuse, origin=Origin("refused"))
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: 1 / 0, origin=Origin("crashed"))
    with pytest.raises(Crashed):
        await kernel.ask("a", kernel.pause(100), origin=Origin("overdue"), deadline=inf)
    (refused,) = await steps_of(kernel, "refused")
    assert (refused.outcome, refused.seconds) == ("refused", pytest.approx(3, abs=0.5))
    outcomes = [step.outcome for name in ("crashed", "overdue") for step in await steps_of(kernel, name)]
    assert outcomes == ["ZeroDivisionError", "Overdue"]


async def test_an_actor_tells_what_it_handled_lately_by_kind(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: None)
    await kernel.ask("a", kernel.pause(2))
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: 1 / 0)
    await kernel.ask("b", lambda player: None)
    snapshot = kernel.runtime.inspection.actor(Address("player", "a"))
    assert snapshot is not None
    (recent,) = snapshot.recent
    assert (recent.message, recent.count, recent.failed) == ("Do", 3, 1)
    assert recent.longest == pytest.approx(2, abs=0.5)
    (crash,) = snapshot.crashes
    assert (crash.error, crash.message, crash.place) == ("ZeroDivisionError", "Do", crash.place)
    assert crash.place.startswith("test_request_trail.py:")


def test_the_memory_is_bounded_and_short_turns_do_not_push_out_what_lasts() -> None:
    trail = RequestTrail()
    trail.note(("request", 0.0, 1.0, "/", "POST", None, "r1", (), ""))
    for number in range(3 * MOST_PLAIN):
        trail.note_plain(("turn", 1.0, 2.0, "Do", "player/a", number, "r2", (), ""))
    kept, pauses = _run(trail, "r2")
    assert len(kept) == MOST_PLAIN
    assert pauses >= MOST_PLAIN // SLICE
    assert len(_run(trail, "r1")[0]) == 1
    for _ in range(MOST_LASTING):
        trail.note(("request", 0.0, 1.0, "/", "POST", None, "r3", (), ""))
    assert _run(trail, "r1")[0] == []


def _run(trail: RequestTrail, request_id: str) -> tuple[list[Step], int]:
    slices, pauses = trail.of_request(request_id), 0
    while True:
        try:
            next(slices)
            pauses += 1
        except StopIteration as end:
            return end.value, pauses


async def test_entries_hold_no_contents(kernel: Kernel) -> None:
    """Neither the message nor its actor is kept alive, and nothing of what it says."""
    await kernel.ask("a", lambda player: "secret")
    for entry in kernel.runtime.trail._plain:  # pyright: ignore[reportPrivateUsage]  # the entries alone are kept
        assert all(isinstance(part, str | float | int | type | tuple) or part is None for part in entry)
