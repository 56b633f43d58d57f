"""The report of what the machine lacks for confinement, in virtual time."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from troupe.actors.media.probe import LATEST, report_missing


class Machine:
    """A machine that lacks something, and when it was looked at."""

    def __init__(self, *missing: str) -> None:
        self.missing = list(missing)
        self.looks: list[float] = []
        self.records: list[tuple[str, dict[str, object]]] = []

    async def look(self) -> list[str]:
        self.looks.append(trio.current_time())
        return self.missing

    def record(self, event: str, /, **facts: object) -> None:
        self.records.append((event, facts))


async def test_a_server_without_files_looks_half_a_minute_after_its_start(autojump_clock: MockClock) -> None:
    machine, start = Machine("namespaces", "seccomp"), trio.current_time()
    await report_missing(trio.Event(), machine.look, machine.record)
    assert machine.looks == [start + LATEST]
    ((event, facts),) = machine.records
    assert (event, facts["error"]) == ("confinement.incomplete", "without namespaces, seccomp")


async def test_the_first_file_does_not_wait_for_that(mock_clock: MockClock) -> None:
    machine, first_file, start = Machine("seccomp"), trio.Event(), trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(report_missing, first_file, machine.look, machine.record)
        await wait_all_tasks_blocked()
        assert machine.looks == []
        first_file.set()
    assert machine.looks == [start]
    assert len(machine.records) == 1


async def test_a_machine_that_lacks_nothing_has_no_record(autojump_clock: MockClock) -> None:
    machine = Machine()
    await report_missing(trio.Event(), machine.look, machine.record)
    assert len(machine.looks) == 1
    assert machine.records == []
