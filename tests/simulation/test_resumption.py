"""A client whose stream is interrupted resumes it: it is shown everything once, whatever happens meanwhile."""

from collections import Counter
from typing import Any

import orjson
import trio

from troupe.actors.commands.edits import EditStatus
from troupe.actors.kernel import NotAnswered
from troupe.http.streaming.session import StreamSession
from troupe.storage.engine.database import StorageError
from troupe.storage.engine.json_values import is_object
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage
from troupe.supervision.testing.stage.people import token_of

# How often a connection is lost after a frame, and the frames that were sent with it.
LOST = 0.05


class Device:
    """A client on the `user` stream, which resumes from the last id that it was told."""

    def __init__(self, sim: Simulation, person: Person) -> None:
        self.shown: list[tuple[str, int]] = []  # events with the ids of what they show
        self.connections = 0
        self._sim = sim
        self._token = token_of(person)
        self._since = "now"
        self._session: StreamSession | None = None

    async def listen(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled. The client is ready when it knows where to resume from."""
        while True:
            await self._sim.running.wait()
            try:
                self._session = await self._sim.api.stream("user", self._token, since=self._since)
            except (NotAnswered, StorageError) as error:
                await trio.sleep(getattr(error, "retry_after", 1))
                continue
            self.connections += 1
            while frames := await self._session.take():
                for frame in map(orjson.loads, frames):
                    self._read(frame)
                    if self._sim.run.random.random() < LOST:
                        self.interrupt()
                        break
                if self._since != "now":
                    task_status.started()
                    task_status = trio.TASK_STATUS_IGNORED

    def interrupt(self) -> None:
        """Lose the connection, with all that was not read."""
        if self._session is not None:
            self._session.close()

    def _read(self, frame: Any) -> None:
        assert frame["event"] != "gap"
        said = frame["event"], id_in(frame["payload"]) if "payload" in frame else "", frame.get("id")
        self._sim.run.note(" ".join(map(str, said)), "a device")
        if frame["event"] != "resumed":
            self.shown.append((frame["event"], id_in(frame["payload"])))
        self._since = frame.get("id", self._since)


def id_in(payload: str) -> int:
    value = orjson.loads(payload)
    return int(value["id"] if is_object(value) else value)


async def interrupted_amid_posts(sim: Simulation, *, killed: bool) -> None:
    """Two people post, edit, delete and mention a third, whose devices lose their connections again and again."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    sim.sign_in([bob])
    phone, laptop = Device(sim, bob), Device(sim, bob)
    edited: list[int] = []

    async def post() -> None:
        await ada.publish("one")
        passing = await ada.publish("two")
        edited.append(await ada.publish("three"))
        await ada.insist(EditStatus(edited[0], "three, again"))
        await ada.delete(passing)

    async def mention() -> None:
        for _ in range(3):
            await cyd.publish("@bob hello")

    async def interrupt(device: Device) -> None:
        for _ in range(3):
            device.interrupt()
            for _ in range(sim.run.random.randrange(30)):
                await trio.lowlevel.checkpoint()

    async def kill() -> None:
        await sim.kill()
        phone.interrupt()
        laptop.interrupt()
        await sim.start()

    async with trio.open_nursery() as listening:
        for device in (phone, laptop):
            await listening.start(device.listen)
        async with sim.together() as go:
            go(post, name="ada")
            go(mention, name="cyd")
            go(interrupt, phone, name="the phone's network")
            if killed:
                go(kill, name="SIGKILL")
        await sim.calm()
        last = await ada.publish("the last")
        await sim.calm()
        for device in (phone, laptop):
            check(device, ada, cyd, edited[0])
            assert device.shown[-1] == ("update", last)
        sim.sometimes(phone.connections > 2, "a client resumed twice")
        listening.cancel_scope.cancel()


def check(device: Device, ada: Person, cyd: Person, edited: int) -> None:
    """Assert that everything was shown once, and what was deleted either not at all or until its end."""
    shown = Counter(device.shown)
    assert [event for event, times in shown.items() if times > 1] == [], "nothing is shown twice"
    updates = [id for event, id in device.shown if event == "update"]
    (passing,) = ada.deleted
    assert set(updates) - {passing} == {*ada.published, *cyd.published} - {passing}
    for author in (ada, cyd):
        assert [id for id in updates if id in author.published] == [id for id in author.published if id in updates]
    if passing in updates:
        assert ("delete", passing) in shown
    assert sum(event == "notification" for event, _ in device.shown) == len(cyd.published)


@simulation(seeds=16, faults=0, world=stage)
async def test_a_client_that_was_interrupted_is_shown_everything_once(sim: Simulation) -> None:
    await interrupted_amid_posts(sim, killed=False)


@simulation(seeds=12, faults=0, world=stage)
async def test_a_client_of_a_killed_server_is_shown_everything_once(sim: Simulation) -> None:
    await interrupted_amid_posts(sim, killed=True)


@simulation(seeds=20, faults=0, world=stage)
async def test_a_client_whose_stream_was_cut_comes_back_and_is_shown_everything_once(sim: Simulation) -> None:
    """The timeline lets go of its subscribers, as it does with slow ones, also while they resume."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    sim.sign_in([bob])
    phone, laptop = Device(sim, bob), Device(sim, bob)

    async def post(author: Person) -> None:
        for number in range(4):
            await author.publish(f"number {number}")

    async def cut() -> None:
        for _ in range(4):
            sim.api.http_context.runtime.pools["home"].cut_streams()
            for _ in range(sim.run.random.randrange(30)):
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as listening:
        for device in (phone, laptop):
            await listening.start(device.listen)
        async with sim.together() as go:
            go(post, ada, name="ada")
            go(post, cyd, name="cyd")
            go(cut, name="the timeline")
        await sim.calm()
        for device in (phone, laptop):
            assert Counter(device.shown) == Counter(("update", id) for id in (*ada.published, *cyd.published))
        sim.sometimes(phone.connections > 2, "a client that was cut resumed twice")
        listening.cancel_scope.cancel()


@simulation(seeds=20, faults=0, world=stage)
async def test_a_client_that_resumes_amid_a_block_is_shown_nothing_after_it(sim: Simulation) -> None:
    """What was missed is read before the block, and sent after it."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    bob.has_followed(cyd)
    sim.sign_in([bob])
    phone, laptop = Device(sim, bob), Device(sim, bob)
    before: list[int] = []  # how much each device was shown when the block was acknowledged

    async def post(author: Person) -> None:
        for number in range(4):
            await author.publish(f"number {number}")

    async def block() -> None:
        for _ in range(sim.run.random.randrange(200)):
            await trio.lowlevel.checkpoint()
        await bob.block(ada)
        before.extend(len(device.shown) for device in (phone, laptop))

    async def interrupt(device: Device) -> None:
        for _ in range(4):
            device.interrupt()
            for _ in range(sim.run.random.randrange(30)):
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as listening:
        for device in (phone, laptop):
            await listening.start(device.listen)
        async with sim.together() as go:
            go(post, ada, name="ada")
            go(post, cyd, name="cyd")
            go(block, name="bob")
            go(interrupt, phone, name="the phone's network")
        await sim.calm()
        for device, shown in zip((phone, laptop), before, strict=True):
            late = {id for event, id in device.shown[shown:] if event == "update"}
            assert late.isdisjoint(ada.published), "nothing of the blocked account after the block"
            assert [event for event, times in Counter(device.shown).items() if times > 1] == []
            assert {id for event, id in device.shown if event == "update"} >= set(cyd.published)
        sim.sometimes(any(("update", id) in phone.shown for id in ada.published), "posts were shown before the block")
        listening.cancel_scope.cancel()
