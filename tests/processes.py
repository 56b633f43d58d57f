"""The processes of the machine, for tests that count what is left."""

import time
from pathlib import Path

#: Seconds. PostgreSQL writes its memory out before it goes, and the machine may be busy.
GONE = 20.0


def processes_of(data: Path, with_words: str = "") -> list[int]:
    """The processes whose command line names the data folder, and has these words."""
    found: list[int] = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            words = _command_line(process)
            if str(data) in words and with_words in words:
                found.append(int(process.name))
    return found


def until_gone(data: Path) -> None:
    """Wait until no process of the data folder is left; fail when one stays."""
    give_up_at = time.monotonic() + GONE
    while left := processes_of(data):
        assert time.monotonic() < give_up_at, [_command_line(Path("/proc") / str(pid)) for pid in left]
        time.sleep(0.01)


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""  # it has just ended
