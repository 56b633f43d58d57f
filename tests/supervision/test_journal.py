"""The log in the journal of systemd: its fields, its levels, and a journald that goes away."""

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from troupe.supervision.log.journal import Journal, is_standard_output
from troupe.supervision.log.log import SupervisionLog, as_json
from troupe.supervision.log.vocabulary import LogEvent
from troupe.supervision.log.writer import Writer

from .log_records import NoonClock


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket at which journald listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "journal"))
        listening.settimeout(10)
        yield listening


def entry(datagram: bytes) -> list[tuple[str, str]]:
    """The fields of an entry, read as the protocol says."""
    fields: list[tuple[str, str]] = []
    while datagram:
        line, _, rest = datagram.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if equals:
            datagram = rest
        else:
            (length,) = struct.unpack_from("<Q", rest)
            value, datagram = rest[8 : 8 + length], rest[9 + length :]
        fields.append((name.decode(), value.decode()))
    return fields


def test_each_fact_is_a_field_and_the_level_is_the_priority(tmp_path: Path, journald: socket.socket) -> None:
    writer = Writer(Journal(tmp_path / "journal"))
    log = SupervisionLog(writer.write, NoonClock(), as_json, strict=True)
    log.record(
        "turn.slow", actor="home/1103", request_id="r1", causes=["http", "account/7"], stack="one\ntwo", seconds=1.5
    )
    log.record("storage.lost")
    log.record("storage.back")
    writer.close(10)
    assert entry(journald.recv(65536)) == [
        ("MESSAGE", "turn.slow home/1103 request_id=r1 causes=http→account/7 seconds=1.5"),
        ("PRIORITY", "4"),
        ("SYSLOG_IDENTIFIER", "troupe"),
        ("TROUPE_TIME", "2026-11-21T12:00:00.000Z"),
        ("TROUPE_EVENT", "turn.slow"),
        ("TROUPE_ACTOR", "home/1103"),
        ("TROUPE_REQUEST_ID", "r1"),
        ("TROUPE_CAUSES", "http"),
        ("TROUPE_CAUSES", "account/7"),
        ("TROUPE_STACK", "one\ntwo"),
        ("TROUPE_SECONDS", "1.5"),
        ("TROUPE_COMMANDS", "troupe actor show home/1103"),
        ("TROUPE_COMMANDS", "troupe request r1"),
    ]
    assert dict(entry(journald.recv(65536)))["PRIORITY"] == "3"
    assert dict(entry(journald.recv(65536)))["PRIORITY"] == "6"


def test_without_a_journal_the_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Journal(tmp_path / "journal")


def test_a_journald_that_was_restarted_gets_the_next_record(tmp_path: Path, journald: socket.socket) -> None:
    journal = Journal(tmp_path / "journal")
    line = as_json(NoonClock().now(), LogEvent.STORAGE_LOST, {}).encode()
    (tmp_path / "journal").unlink()
    with pytest.raises(OSError, match=r"."):
        journal.write(line)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as again:
        again.bind(str(tmp_path / "journal"))
        journal.write(line)
        again.settimeout(10)
        assert dict(entry(again.recv(65536)))["TROUPE_EVENT"] == "storage.lost"


def test_the_journal_is_found_by_what_systemd_says_of_standard_output() -> None:
    with open(os.devnull) as null:
        status = os.fstat(null.fileno())
        assert is_standard_output(null.fileno(), {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
        assert not is_standard_output(null.fileno(), {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino + 1}"})
        assert not is_standard_output(null.fileno(), {})
