"""Disks that run low: told once, shown in the tree, and told again when they are well."""

from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from troupe.supervision.system.disks import LOOK_EVERY, REPORT_AGAIN, Disks

from ..small_disks import resize, small_disk


class Records(list[tuple[str, str]]):
    """The supervision log of a test."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        self.append((event, facts["error"]))


async def test_a_disk_is_told_of_when_it_runs_low_and_when_it_is_well_again(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    records = Records()
    with small_disk(tmp_path / "data", "8g") as data:
        disks = Disks({"data": data, "database": data}, records)
        await disks.look()
        assert records == []
        assert disks.inspect() == {"data": "8.0 GiB free of 8.0 GiB"}
        resize(data, "1g")
        for _ in range(10):
            mock_clock.jump(LOOK_EVERY)
            await disks.look()
        assert records == [("disk.low", "data: 1.0 GiB free of 1.0 GiB")]
        assert disks.inspect() == {"data": "1.0 GiB free of 1.0 GiB", "low": ["data"]}
        mock_clock.jump(REPORT_AGAIN)
        await disks.look()
        assert len(records) == 2
        resize(data, "2200m")  # more than the threshold, and not enough to be well
        await disks.look()
        assert len(records) == 2
        resize(data, "8g")
        await disks.look()
        await disks.look()
        assert records[2:] == [("disk.well", "data: 8.0 GiB free of 8.0 GiB")]
        assert "low" not in disks.inspect()


async def test_each_disk_is_told_of_by_its_name(tmp_path: Path) -> None:
    records = Records()
    with small_disk(tmp_path / "data", "8g") as data, small_disk(data / "postgres", "300m") as database:
        await Disks({"data": data, "database": database}, records).look()
    assert records == [("disk.low", "database: 300 MiB free of 300 MiB")]


async def test_a_disk_without_room_for_more_files_is_low(tmp_path: Path) -> None:
    records = Records()
    with small_disk(tmp_path / "data", "8g", nr_inodes="500") as data:
        await Disks({"data": data}, records).look()
    assert records == [("disk.low", "data: 499 more files can be made")]


async def test_a_folder_that_cannot_be_looked_at_ends_nothing_and_one_that_is_not_there_yet_is_no_matter(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    records, stopping = Records(), trio.Event()
    (tmp_path / "file").touch()
    folders = {"data": tmp_path / "gone", "media": tmp_path / "file" / "media"}
    await nursery.start(Disks(folders, records).run, stopping)
    ((event, error),) = records
    assert event == "disk.low"
    assert "Not a directory" in error
    stopping.set()
