"""What operators see of the open streams: `troupe streams`."""

from __future__ import annotations

import trio

from troupe.actors.kernel.inspection import at_once, in_slices
from troupe.http.access.streams import SNAPSHOT_SLICE, Streams, StreamSnapshot

from ...clients import Person, Stage
from .conftest import Edge


async def test_an_open_stream_has_its_account_its_streams_and_how_far_it_is_behind(
    edge: Edge, stage: Stage, ada: Person
) -> None:
    async with edge.socket("?stream=user", ada.token) as reader:
        await reader.settle()
        (seen,) = await in_slices(stage.http_context.streams.snapshots(trio.current_time(), 10))
        assert (seen.account_id, seen.streams, seen.behind) == (int(ada.id), ("user",), 0)
        assert seen.open >= 0
    await edge.quiet()


class Open:
    """A stream that is so many events behind."""

    token = None
    address = ""

    def __init__(self, behind: int) -> None:
        self.behind = behind

    def resume(self) -> None:
        raise NotImplementedError

    def end(self, why: object) -> None:
        raise NotImplementedError

    def snapshot(self, now: float) -> StreamSnapshot:
        return StreamSnapshot(None, (), "-", 0.0, self.behind, 0.0)


def test_those_furthest_behind_come_first_and_many_are_looked_at_in_slices() -> None:
    streams = Streams()
    for behind in range(SNAPSHOT_SLICE * 3):
        streams.add(Open(behind))
    assert [one.behind for one in at_once(streams.snapshots(0.0, 2))] == [
        SNAPSHOT_SLICE * 3 - 1,
        SNAPSHOT_SLICE * 3 - 2,
    ]
    assert len(list(streams.snapshots(0.0, 2))) == 3, "pauses"
