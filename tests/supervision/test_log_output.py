"""Where the log goes, and in which form, by its settings."""

import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from troupe.actors.configuration import Settings
from troupe.supervision.log import journal
from troupe.supervision.log.output import open_log


def test_a_log_in_a_file_is_json_unless_it_is_for_people(tmp_path: Path) -> None:
    for form, start in (("auto", '{"time":'), ("console", "")):
        opened = open_log(Settings.model_validate({"data": tmp_path / form, "log_to": "file", "log_format": form}))
        opened.log.record("storage.lost")
        opened.close()
        line = (tmp_path / form / "troupe.log").read_text()
        assert line.startswith(start)
        assert ("✗ storage.lost" in line) is (form == "console")


def test_the_file_and_its_size_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = {"log_to": "file", "log_file": tmp_path / "mine.log", "log_file_size": 1, "log_files": 1}
    for begun in range(5):  # each is closed when all is written: the queue of lines holds no more than a file
        opened = open_log(Settings.model_validate(settings))
        for number in range(900):  # of 250 bytes and more
            opened.log.record("outbox.retry", host="a" * 200, error=f"number {begun * 900 + number}")
        opened.close()
    assert sorted(os.listdir(tmp_path)) == ["mine.log", "mine.log.1"]


def test_the_level_can_change_while_records_are_written(tmp_path: Path) -> None:
    opened = open_log(Settings.model_validate({"data": tmp_path, "log_to": "file", "log_level": "error"}))
    level, opened.log.level = opened.log.level, type(opened.log.level).INFO
    opened.log.record("storage.back")
    opened.log.level = level
    opened.log.record("storage.accepted")
    opened.close()
    assert [json.loads(line)["event"] for line in (tmp_path / "troupe.log").read_text().splitlines()] == [
        "storage.back"
    ]


def test_a_journal_that_is_not_there_is_said_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal.Journal.__init__, "__defaults__", (tmp_path / "socket",))
    with pytest.raises(FileNotFoundError, match="socket"):
        open_log(Settings(log_to="journal"))


PROGRAM = """
from troupe.actors.configuration import Settings
from troupe.supervision.log.output import open_log
opened = open_log(Settings())
opened.log.record("storage.lost", error="OSError: " + "no " * 30)
opened.close()
"""


def on_a_terminal(columns: int, **environ: str) -> str:
    """What a log on a terminal of this width shows."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    try:
        subprocess.run(
            [sys.executable, "-c", PROGRAM], stdout=theirs, env=os.environ | {"TERM": "xterm"} | environ,
            check=True, timeout=60,
        )  # fmt: skip
        return os.read(ours, 65536).decode().replace("\r\n", "\n")
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_terminal_gets_colours_unless_they_are_unwanted_and_lines_that_fit() -> None:
    shown = on_a_terminal(60, NO_COLOR="")
    assert "\x1b[1;31m✗ storage.lost" in shown
    plain = on_a_terminal(60, NO_COLOR="1")
    assert "\x1b" not in plain
    assert len(plain.splitlines()) > 1
    assert max(map(len, plain.splitlines())) <= 60
    assert len(on_a_terminal(200, NO_COLOR="1").splitlines()) == 1
