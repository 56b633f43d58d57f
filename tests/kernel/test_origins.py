"""Actor to actor: request ids and causes on the way, and asks that would wait for themselves."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import NOWHERE, AskCycle, Crashed, Origin, Refused, TimedOut
from troupe.actors.kernel.message import LONGEST_CHAIN

from .acting import Kernel, Player


async def test_a_request_id_and_its_causes_travel_with_the_messages_of_actors(kernel: Kernel) -> None:
    origins: list[Origin] = []

    def last(player: Player) -> None:
        origins.append(player.origin)

    def middle(player: Player) -> None:
        player.tell_player("c", last)

    def first(player: Player) -> None:
        player.tell_player("b", middle)

    kernel.tell("a", first, origin=Origin("r1"))
    await wait_all_tasks_blocked()
    (origin,) = origins
    assert origin.request_id == "r1"
    assert [cause.split("#")[0] for cause in origin.causes] == ["Do", "Do", "Do"]
    assert [cause.split(" at ")[1] for cause in origin.causes] == ["player/a", "player/b", "player/c"]


async def test_a_crash_names_the_request_and_the_causes_of_the_message(kernel: Kernel) -> None:
    kernel.tell("a", lambda player: player.tell_player("b", lambda player: 1 / 0), origin=Origin("r1"))
    await wait_all_tasks_blocked()
    facts = kernel.told("actor.crashed")[0]
    assert (facts["actor"], facts["request_id"], facts["message"]) == ("player/b", "r1", "Do")
    assert [cause.split(" at ")[1] for cause in facts["causes"]] == ["player/a"]
    assert facts["error"] == "ZeroDivisionError: division by zero"
    assert facts["place"].startswith("test_origins.py:")


async def test_an_ask_between_actors_carries_the_request_and_the_asker(kernel: Kernel) -> None:
    async def ask(player: Player) -> Origin:
        return await player.ask_player("b", lambda player: player.origin)

    origin = await kernel.ask("a", ask, origin=Origin("r1"))
    assert origin.request_id == "r1"
    assert [cause.split(" at ")[1] for cause in origin.causes] == ["player/a", "player/b"]


async def test_loading_has_no_cause(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        player.done.append(player.origin)

    kernel.script.load = load
    kernel.tell("a", lambda player: None, origin=Origin("r1"))
    await wait_all_tasks_blocked()
    assert kernel.player("a").done == [NOWHERE]


def test_a_chain_of_causes_keeps_the_newest() -> None:
    origin = Origin("r1")
    for number in range(100):
        origin = origin.after(f"Do#{number} at player/a")
    assert len(origin.causes) == LONGEST_CHAIN
    assert origin.causes[-1] == "Do#99 at player/a"


# Asks between actors


async def test_an_actor_asks_another(kernel: Kernel) -> None:
    async def ask(player: Player) -> int:
        return await player.ask_player("b", lambda player: 7)

    assert await kernel.ask("a", ask) == 7


async def test_a_refusal_reaches_the_asking_turn(kernel: Kernel) -> None:
    async def ask(player: Player) -> str:
        try:
            await player.ask_player("b", lambda player: Refused(404, "gone"))
        except Refused as refusal:
            return refusal.text
        return "answered"

    assert await kernel.ask("a", ask) == "gone"


async def test_the_deadline_of_the_message_holds_for_what_its_turn_asks(kernel: Kernel) -> None:
    async def ask(player: Player) -> float:
        with suppress(TimedOut):
            await player.ask_player("b", kernel.pause(20))
        return trio.current_time()

    began = trio.current_time()
    with pytest.raises(TimedOut):
        await kernel.ask("a", ask, deadline=began + 3)
    assert trio.current_time() == began + 3


async def test_an_ask_from_the_turn_of_a_hint_has_the_usual_deadline(kernel: Kernel) -> None:
    async def ask(player: Player) -> None:
        with pytest.raises(TimedOut):
            await player.ask_player("b", kernel.pause(25))
        player.done.append(trio.current_time())

    began = trio.current_time()
    kernel.tell("a", ask)
    await trio.sleep(11)
    assert kernel.player("a").done == [began + 10]


async def ask_in_a_circle(player: Player, keys: str) -> Any:
    """Ask the first of `keys` to ask the next one, and so on."""
    if not keys:
        return "answered"
    return await player.ask_player(keys[0], lambda player: ask_in_a_circle(player, keys[1:]))


@pytest.mark.parametrize("circle", ["a", "ba", "bca"], ids=["itself", "two actors", "three actors"])
async def test_an_ask_that_would_wait_for_itself_is_refused_at_once(kernel: Kernel, circle: str) -> None:
    async def ask(player: Player) -> str:
        try:
            return await ask_in_a_circle(player, circle)
        except (AskCycle, Crashed) as error:
            return type(error).__name__

    began = trio.current_time()
    # The one who closes the circle is told; when it does not expect that, it crashes and so answers the others.
    assert await kernel.ask("a", ask) == ("AskCycle" if circle == "a" else "Crashed")
    assert trio.current_time() == began
    facts = kernel.told("ask.cycle")[0]
    assert facts["actor"] == f"player/{circle[-2] if len(circle) > 1 else 'a'}"
    assert facts["decision"] == "refused"


async def test_the_request_is_named_when_an_ask_is_refused_as_a_circle(kernel: Kernel) -> None:
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: ask_in_a_circle(player, "ba"), origin=Origin("r1"))
    assert kernel.told("ask.cycle")[0]["request_id"] == "r1"
    assert len(kernel.told("ask.cycle")[0]["causes"]) == 2


async def test_an_actor_that_waits_for_a_busy_one_is_in_no_circle(kernel: Kernel) -> None:
    kernel.tell("b", kernel.pause(2))
    assert await kernel.ask("a", lambda player: ask_in_a_circle(player, "bc")) == "answered"
    assert not kernel.told("ask.cycle")


async def test_after_an_ask_has_ended_the_asked_may_ask_back(kernel: Kernel) -> None:
    async def impatient(player: Player) -> None:
        with trio.move_on_after(1):
            await player.ask_player("b", kernel.pause(3))

    await kernel.ask("a", impatient)
    assert await kernel.ask("b", lambda player: ask_in_a_circle(player, "a")) == "answered"


async def test_in_the_rest_of_its_turn_an_actor_waits_for_no_other_one(kernel: Kernel) -> None:
    async def impatient(player: Player) -> None:
        with trio.move_on_after(1):
            await player.ask_player("b", kernel.pause(3))
        await trio.sleep(4)

    kernel.tell("a", impatient)
    await trio.sleep(2)
    assert await kernel.ask("b", lambda player: ask_in_a_circle(player, "a")) == "answered"
