"""Commands to actors that another process owns: `actors/cluster/commands.py`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.cluster import commands
from troupe.actors.cluster.commands import REMEMBERED, ReceivedCommands
from troupe.actors.cluster.others import Incomplete
from troupe.actors.cluster.wire import Sent, SentAnswer, SentCommand, SentError, Withdrawal
from troupe.actors.kernel import NOWHERE, Address, AskCycle, Busy, Crashed, Origin, Refused, TimedOut
from troupe.actors.kernel.errors import NotAnswered, OwnerLost
from troupe.storage.engine.database import Doubtful, NotOwner, Unavailable

from .commanding import ADA, BOB, CODEC, REFUSAL, Work, Worker, World, lasting, refuse, two_processes

SENT = Sent.by(NOWHERE)


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    async with two_processes() as world:
        yield world


def raising(error: Exception) -> Callable[[Worker], Any]:
    def fail(worker: Worker) -> None:
        raise error

    return fail


# Answers, refusals and errors


async def test_a_command_is_executed_by_the_owner_and_answered(world: World) -> None:
    world.actions["name"] = lambda worker: worker.process.name
    assert await world.one.runtime.ask(BOB, Work("name")) == "two"
    assert await world.one.runtime.ask(ADA, Work("name")) == "one"
    assert (world.one.done, world.two.done) == ([("account/103", "name")], [("account/104", "name")])


async def test_a_command_without_an_answer_is_executed_by_the_owner(world: World) -> None:
    world.one.runtime.tell(BOB, Work("anything"))
    world.one.runtime.tell(ADA, Work("anything"))
    await wait_all_tasks_blocked()
    assert (world.one.done, world.two.done) == ([("account/103", "anything")], [("account/104", "anything")])
    assert not world.bodies("two")


async def test_a_refusal_of_the_owner_is_that_of_the_asker(world: World) -> None:
    world.actions["refuse"] = refuse
    with pytest.raises(Refused) as caught:
        await world.one.runtime.ask(BOB, Work("refuse"))
    assert caught.value == REFUSAL


async def test_a_refusal_does_not_count_while_the_owner_lacks_facts(world: World) -> None:
    def late(worker: Worker) -> Refused:
        world.two.is_complete = False
        return refuse(worker)

    world.actions["late"] = late
    with pytest.raises(Incomplete):
        await world.one.runtime.ask(BOB, Work("late"))
    with pytest.raises(Incomplete):
        await world.one.runtime.ask(BOB, Work("anything"))
    assert world.two.done == [("account/104", "late")], "an owner that lacks facts executes nothing"


async def test_a_crash_of_the_owner_is_a_crash_for_the_asker(world: World) -> None:
    world.actions["crash"] = raising(ValueError("planned"))
    with pytest.raises(Crashed):
        await world.one.runtime.ask(BOB, Work("crash"))


@pytest.mark.parametrize("kind", [*commands.ERRORS.values()])
def test_errors_cross_by_their_names(kind: type[Exception]) -> None:
    assert commands.ERRORS[commands._known(kind("text"))] is kind  # pyright: ignore[reportPrivateUsage]


def test_an_error_that_is_not_known_crosses_as_its_nearest_class() -> None:
    class Fuller(Busy):
        pass

    class Stranger(NotAnswered):
        pass

    assert commands._known(Fuller("text")) == "Busy"  # pyright: ignore[reportPrivateUsage]
    assert commands._known(Stranger("text")) == "OwnerLost"  # pyright: ignore[reportPrivateUsage]
    assert commands._known(NotOwner("text")) == "Unavailable"  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("name", "kind"), [("Busy", Busy), ("Doubtful", Doubtful), ("Unavailable", Unavailable), ("New", OwnerLost)]
)
async def test_a_failure_is_raised_by_its_name(world: World, name: str, kind: type[Exception]) -> None:
    world.held = True

    async def answer() -> None:
        await wait_all_tasks_blocked()
        world.one.commands.take_error(world.one.peers["two"], SentError(1, name, "the text"))

    world.nursery.start_soon(answer)
    with pytest.raises(kind, match="the text"):
        await world.one.runtime.ask(BOB, Work("anything"))


# Deadlines, and askers that leave


async def test_the_deadline_of_the_asker_is_that_of_the_turn(world: World) -> None:
    world.actions["long"] = lasting(100)
    began = trio.current_time()
    with pytest.raises(TimedOut):
        await world.one.runtime.ask(BOB, Work("long"), deadline=began + 3)
    assert trio.current_time() - began == pytest.approx(3)
    command = world.bodies("one")[0]
    assert isinstance(command, SentCommand)
    assert command.seconds == pytest.approx(3)


async def test_without_a_datagram_from_the_owner_the_asker_waits_until_its_deadline(world: World) -> None:
    world.held = True
    with pytest.raises(TimedOut):
        await world.one.runtime.ask(BOB, Work("anything"))
    assert trio.current_time() > 9


async def test_a_command_whose_asker_has_left_is_not_executed_if_its_turn_has_not_begun(world: World) -> None:
    world.actions["long"] = lasting(1)
    world.two.runtime.tell(BOB, Work("long"))
    await wait_all_tasks_blocked()
    with trio.move_on_after(0.5):
        await world.one.runtime.ask(BOB, Work("regretted"))
    await trio.sleep(2)
    assert world.two.done == [("account/104", "long")]
    assert isinstance(world.bodies("one")[-1], Withdrawal)


async def test_a_turn_that_has_begun_goes_on_after_its_asker_has_left(world: World) -> None:
    ended: list[str] = []

    async def long(worker: Worker) -> None:
        await trio.sleep(1)
        ended.append("long")

    world.actions["long"] = long
    with trio.move_on_after(0.5):
        await world.one.runtime.ask(BOB, Work("long"))
    await trio.sleep(1)
    assert ended == ["long"]


async def test_a_command_that_comes_after_its_withdrawal_is_not_executed(world: World) -> None:
    """The client may have sent another command meanwhile, which must be the last."""
    world.held = True
    with trio.move_on_after(0.5):
        await world.one.runtime.ask(BOB, Work("regretted"))
    assert [type(body) for body in world.bodies("one")] == [SentCommand, Withdrawal]
    world.waiting.reverse()
    world.release()
    await trio.sleep(1)
    assert world.two.done == []


async def test_an_answer_that_comes_too_late_is_ignored(world: World) -> None:
    with pytest.raises(TimedOut):
        await world.one.runtime.ask(BOB, Work("anything"), deadline=trio.current_time())
    await wait_all_tasks_blocked()
    world.one.commands.take_answer(world.one.peers["two"], SentAnswer(1, CODEC.encode_answer(Work, "late")))
    world.one.commands.take_error(world.one.peers["two"], SentError(77, "Busy", ""))


# Repeated and lost datagrams


async def test_a_repeated_datagram_is_executed_once(world: World) -> None:
    await world.one.runtime.ask(BOB, Work("anything"))
    command = next(datagram for datagram in world.sent if datagram[0] == "one")
    for _ in range(3):
        world.bring(*command)
    await wait_all_tasks_blocked()
    assert len(world.two.done) == 1


async def test_a_repeated_answer_answers_no_other_command(world: World) -> None:
    world.actions["first"] = lambda worker: "first"
    await world.one.runtime.ask(BOB, Work("first"))
    answer = next(datagram for datagram in world.sent if datagram[0] == "two")
    world.held = True

    async def repeat() -> None:
        await wait_all_tasks_blocked()
        world.bring(*answer)
        await wait_all_tasks_blocked()
        world.release()

    world.actions["second"] = lambda worker: "second"
    world.nursery.start_soon(repeat)
    assert await world.one.runtime.ask(BOB, Work("second")) == "second"


def test_a_number_is_new_once_however_many_commands_came_since() -> None:
    asked = ReceivedCommands()
    assert all(asked.is_new(number) for number in range(1, REMEMBERED + 100))
    assert not any(asked.is_new(number) for number in range(1, REMEMBERED + 100))
    assert asked.is_new(REMEMBERED + 100)


def test_numbers_may_come_in_any_order() -> None:
    asked = ReceivedCommands()
    assert all(asked.is_new(number) for number in reversed(range(1, 1_000)))
    assert not any(asked.is_new(number) for number in range(1, 1_000))


# Owners that change


async def test_a_command_whose_shard_has_moved_is_sent_to_the_new_owner(world: World) -> None:
    def moved(worker: Worker) -> str:
        if worker.process is world.two:
            world.move(BOB, "one")
            raise NotOwner("another node has it")
        return worker.process.name

    world.actions["move"] = moved
    assert await world.one.runtime.ask(BOB, Work("move")) == "one"
    assert world.one.refreshed == 1


async def test_a_node_that_does_not_own_a_shard_returns_the_command(world: World) -> None:
    owner_of, asked = world.one.owner_of, list[int]()

    def outdated(shard: int) -> str | None:
        asked.append(shard)
        return "two" if len(asked) < 3 else owner_of(shard)

    world.one.owner_of = outdated
    world.actions["name"] = lambda worker: worker.process.name
    assert await world.one.runtime.ask(ADA, Work("name")) == "one"
    assert world.two.done == []


async def test_a_command_without_an_owner_waits_for_one(world: World) -> None:
    world.move(BOB, None)
    world.refreshed = lambda process: process.refreshed >= 20 and world.move(BOB, "two")
    world.actions["name"] = lambda worker: worker.process.name
    assert await world.one.runtime.ask(BOB, Work("name")) == "two"
    world.one.runtime.tell(Address("account", "105"), Work("lost"))  # without an error


async def test_without_an_owner_the_outcome_is_known_before_the_deadline(world: World) -> None:
    world.move(BOB, None)
    with pytest.raises(OwnerLost, match="account/104 has no owner"):
        await world.one.runtime.ask(BOB, Work("anything"))
    assert trio.current_time() < 10


async def test_the_end_of_an_owner_ends_the_wait(world: World) -> None:
    world.actions["long"] = lasting(5)

    async def end() -> None:
        await trio.sleep(1)
        world.one.commands.lose(world.one.peers["two"])

    world.nursery.start_soon(end)
    with pytest.raises(OwnerLost, match="two has ended"):
        await world.one.runtime.ask(BOB, Work("long"))
    assert trio.current_time() == pytest.approx(1)


async def test_commands_of_a_process_that_has_ended_are_not_executed(world: World) -> None:
    world.actions["long"] = lasting(1)
    world.two.runtime.tell(BOB, Work("long"))
    await wait_all_tasks_blocked()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.one.runtime.ask, BOB, Work("of the dead"))
        await wait_all_tasks_blocked()
        world.two.commands.lose(world.two.peers["one"])
        nursery.cancel_scope.cancel()
    await trio.sleep(2)
    assert world.two.done == [("account/104", "long")]


async def test_a_command_that_comes_with_the_end_of_its_process_is_not_executed(world: World) -> None:
    peer = world.two.peers.pop("one")
    await world.two.commands.take_command(peer, SentCommand(1, str(BOB), CODEC.encode(Work("late")), SENT, 1.0))
    assert world.two.done == []


# The request, and its askers


async def test_the_request_and_its_causes_cross(world: World) -> None:
    origins: list[Origin] = []

    async def ask_bob(worker: Worker) -> str:
        return await worker.ask_worker(BOB, "note")

    def note(worker: Worker) -> str:
        origins.append(worker.origin)
        return "noted"

    world.actions |= {"ask bob": ask_bob, "note": note}
    await world.one.runtime.ask(ADA, Work("ask bob"), origin=Origin("r1", ("GET /",), "t1"))
    (origin,) = origins
    assert (origin.request_id, origin.trace) == ("r1", "t1")
    assert [cause.split("#")[0] for cause in origin.causes] == ["GET /", "Work", "Work"]
    assert [cause.split(" at ")[1] for cause in origin.causes[1:]] == ["account/103", "account/104"]


async def test_a_cycle_of_askers_of_two_processes_is_refused(world: World) -> None:
    async def ask_bob(worker: Worker) -> str:
        return await worker.ask_worker(BOB, "ask ada")

    async def ask_ada(worker: Worker) -> str:
        return await worker.ask_worker(ADA, "anything")

    caught: list[Exception] = []

    async def catch(worker: Worker) -> str:
        try:
            return await ask_ada(worker)
        except AskCycle as error:
            caught.append(error)
            raise

    world.actions |= {"ask bob": ask_bob, "ask ada": catch}
    with pytest.raises(Crashed):
        await world.one.runtime.ask(ADA, Work("ask bob"))
    assert len(caught) == 1
    assert trio.current_time() < 1, "at once"
    assert world.one.done == [("account/103", "ask bob")]
    facts = next(facts for event, facts in world.one.records if event == "ask.cycle")
    assert (facts["actor"], facts["decision"]) == ("account/103", "refused")


# Another version of the server


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("account/104", CODEC.encode(Refused(404, "no message"))),
        ("account/104", b"\x92\xa7Unknown\x80"),
        ("account/104", b"nonsense"),
        ("account/104", b""),
        ("planet/104", CODEC.encode(Work("anything"))),
        ("account/", CODEC.encode(Work("anything"))),
        ("account/b", CODEC.encode(Work("anything"))),
        ("", CODEC.encode(Work("anything"))),
    ],
)
async def test_a_command_that_this_version_does_not_know_is_not_answered(
    world: World, address: str, message: bytes
) -> None:
    peer = world.two.peers["one"]
    await world.two.commands.take_command(peer, SentCommand(1, address, message, SENT, 10.0))
    (failure,) = world.bodies("two")
    assert isinstance(failure, SentError)
    assert world.two.done == []


async def test_an_answer_that_this_version_does_not_know_is_none(world: World) -> None:
    world.held = True

    async def answer() -> None:
        await wait_all_tasks_blocked()
        world.one.commands.take_answer(world.one.peers["two"], SentAnswer(1, b"\x92\xa7Unknown\x80"))

    world.nursery.start_soon(answer)
    with pytest.raises(OwnerLost, match="Unknown"):
        await world.one.runtime.ask(BOB, Work("anything"))
