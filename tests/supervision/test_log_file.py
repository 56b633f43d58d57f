"""The log in a file: its pieces, a file that was moved away, and a disk that is full."""

import os
from pathlib import Path

import pytest

from troupe.supervision.log.file import LogFile

from ..small_disks import fill, small_disk

LINE = b"0123456789abcde\n"  # 16 bytes


def written(path: Path, size: int, count: int, lines: int) -> LogFile:
    log = LogFile(path, size, count)
    for number in range(lines):
        log.write(b"%015d\n" % number)
    return log


def first_number(path: Path) -> int:
    return int(path.read_text().split("\n")[0])


def test_a_new_file_begins_at_the_size_and_the_newest_pieces_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "troupe.log"
    written(path, 32, 2, 9).close()
    assert sorted(os.listdir(tmp_path)) == ["troupe.log", "troupe.log.1", "troupe.log.2"]
    assert [first_number(tmp_path / name) for name in ("troupe.log", "troupe.log.1", "troupe.log.2")] == [8, 6, 4]
    assert path.stat().st_size == 16


def test_without_older_files_only_the_newest_is_there(tmp_path: Path) -> None:
    written(tmp_path / "troupe.log", 32, 0, 9).close()
    assert os.listdir(tmp_path) == ["troupe.log"]
    assert first_number(tmp_path / "troupe.log") == 8


def test_a_start_goes_on_with_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "troupe.log"
    for _ in range(2):
        written(path, 1000, 1, 1).close()
    assert path.read_text() == "000000000000000\n" * 2


def test_after_a_move_lines_go_to_a_new_file_at_the_path(tmp_path: Path) -> None:
    path = tmp_path / "troupe.log"
    log = written(path, 1000, 1, 1)
    path.rename(tmp_path / "troupe.log-20261121")
    log.write(LINE)
    assert path.read_bytes() == LINE
    path.unlink()
    path.write_bytes(b"")  # logrotate's `create` makes it before the next line
    log.write(LINE)
    log.close()
    assert path.read_bytes() == LINE
    assert first_number(tmp_path / "troupe.log-20261121") == 0


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    written(tmp_path / "troupe.log", 16, 1, 3).close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_path_that_cannot_be_opened_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LogFile(tmp_path / "nowhere" / "troupe.log", 1000, 1)


def test_a_full_disk_takes_whole_lines_or_nothing_and_the_next_after_it_has_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        log = LogFile(disk / "troupe.log", 1_000_000, 1)
        log.write(LINE)
        fill(disk / "other")
        long = b"x" * 5000 + b"\n"  # its beginning has room in the page of the first line
        with pytest.raises(OSError, match=r"."):
            log.write(long)
        (disk / "other").unlink()
        log.write(LINE)
        assert (disk / "troupe.log").read_bytes() == LINE * 2
        log.close()


def test_a_file_that_cannot_be_cut_grows_on(tmp_path: Path) -> None:
    (tmp_path / "troupe.log.1").mkdir()
    (tmp_path / "troupe.log.1" / "in the way").write_text("")
    written(tmp_path / "troupe.log", 32, 1, 9).close()
    assert (tmp_path / "troupe.log").read_text().count("\n") == 9
