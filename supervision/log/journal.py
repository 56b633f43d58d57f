"""The log in the journal of systemd, each fact a field of its own: `journalctl TROUPE_ACTOR=home/1103`.

Records go to journald's socket (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/). The other way, lines with a priority
(`<3>…`) on standard output, keeps the levels alone: the facts would be text inside of the message, which journalctl
can't select by. The protocol is a datagram for each record, so it takes no more code.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from ...storage.engine.json_values import is_list
from .console import message_of
from .vocabulary import LogEvent

SOCKET = Path("/run/systemd/journal/socket")
PRIORITIES = {"info": 6, "warning": 4, "error": 3}  # syslog(3)
IDENTIFIER = "troupe"


def is_standard_output(descriptor: int, environ: Mapping[str, str]) -> bool:
    """True if systemd has connected this descriptor to the journal (systemd.exec(5), JOURNAL_STREAM)."""
    status = os.fstat(descriptor)
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class Journal:
    """The socket of journald. It is named in each call, so that a journald that was restarted is found."""

    def __init__(self, path: Path = SOCKET) -> None:
        """Raise OSError if there is no journal, so that this is seen at the start."""
        path.stat()
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def write(self, line: bytes) -> None:
        """Send the record of a JSON line. Raises OSError if that fails.

        The entry is made of the line here, in the thread that writes, so that the event loop only formats the line.
        """
        entry = b"".join(_field(name, value) for name, value in _fields(orjson.loads(line)))
        self._socket.sendto(entry, self._path)

    def close(self) -> None:
        self._socket.close()


def _fields(record: dict[str, object]) -> Iterator[tuple[str, str]]:
    time, level, event = (str(record.pop(name)) for name in ("time", "level", "event"))
    yield "MESSAGE", message_of(LogEvent(event), record)
    yield "PRIORITY", str(PRIORITIES[level])
    yield "SYSLOG_IDENTIFIER", IDENTIFIER
    yield "TROUPE_TIME", time  # of a folded record it is earlier than the journal's
    yield "TROUPE_EVENT", event
    for name, value in record.items():
        for item in value if is_list(value) else [value]:  # a field may come several times
            yield f"TROUPE_{name.upper()}", str(item)


def _field(name: str, value: str) -> bytes:
    """Return a field as the journal reads it: a value with line breaks has its length before it."""
    data = value.encode("utf-8", "backslashreplace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
