"""What commands draw on a terminal: nothing that matters is cut, and the terminal is afterwards as it was."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from rich.console import Console

from troupe.storage.engine.json_values import JsonObject
from troupe.supervision.commands import terminal
from troupe.supervision.commands.terminal import fitted
from troupe.supervision.commands.top import drawn
from troupe.supervision.control import ControlSocket

ADDRESS = "account/117665073018043392"
PATIENCE = 20
TROUPE = (sys.executable, "-c", "from troupe.supervision.commands import main; main()")
LEFT = b"\x1b[?1049l"  # the terminal shows again what it showed before

KIND: JsonObject = {
    "kind": "account", "awake": 10_000, "known": 100_000, "working": 2, "depth": 256, "oldest": 7200.0, "turn": 119.9,
    "restarts": 1_234, "resting": 12, "quarantined": 3, "subscribers": 5_000,
}  # fmt: skip
ACTOR: JsonObject = {
    "address": ADDRESS, "phase": "waiting", "depth": 256, "oldest": 119.9, "message": "PublishStatus", "turn": 29.5,
    "restarts": 1_234, "subscribers": 5_000,
}  # fmt: skip


def screen(width: int, *actors: JsonObject) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(drawn({"kinds": [KIND], "actors": actors}, width))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_address_and_no_number_is_cut_on_a_narrow_screen(width: int) -> None:
    lines = screen(width, ACTOR, ACTOR | {"message": "", "phase": "quarantined"}, ACTOR | {"message": "M" * 60})
    assert lines[0].split() == [
        "kind", "awake", "known", "turns", "mail", "oldest", "turn", "restarts", "resting", "quar.", "streams",
    ]  # fmt: skip
    assert lines[1].split() == [
        "account", "10,000", "100,000", "2", "256", "2", "h", "119.9", "s", "1,234", "12", "3", "5,000",
    ]  # fmt: skip
    numbers = ["29.5", "s", "256", "119.9", "s", "1,234", "5,000"]
    assert lines[4].split() == [ADDRESS, "PublishStatus", *numbers]
    assert lines[5].split() == [ADDRESS, "quarantined", *numbers]
    assert lines[6].split()[2:] == numbers
    assert max(map(len, lines)) <= width


def test_a_ready_actor_does_nothing() -> None:
    assert screen(80, ACTOR | {"message": "", "phase": "ready"})[4].split()[1] == "29.5"


def test_a_long_line_goes_on_below_its_text_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "  crashed      7 min ago on CredentialsOf#41: ValueError at statuses.py:10"
    assert fitted(line, 15) == line
    monkeypatch.setattr(terminal, "columns", lambda: 50)
    assert fitted(line, 15).splitlines() == [
        "  crashed      7 min ago on CredentialsOf#41:", "               ValueError at statuses.py:10",
    ]  # fmt: skip
    assert fitted("short", 15) == "short"


class Watched:
    """`troupe top` in a terminal of its own, with a server that answers it."""

    def __init__(self, data: Path) -> None:
        self.terminal, end = pty.openpty()
        termios.tcsetwinsize(self.terminal, (24, 80))
        self.before = termios.tcgetattr(end)
        self.end = end
        words = ("top", "--interval", "60", "--data", str(data))
        self.process = subprocess.Popen((*TROUPE, *words), stdin=end, stdout=end, stderr=end)
        self.shown = b""

    def until(self, text: bytes) -> None:
        """Read until a text is shown."""
        while text not in self.shown:
            self.shown += os.read(self.terminal, 65_536)

    def press(self, key: bytes) -> None:
        self.shown = b""
        os.write(self.terminal, key)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.end)


@contextmanager
def watched(data: Path) -> Generator[Watched]:
    one = Watched(data)
    try:
        yield one
    finally:
        one.close()


def quit_by_key(top: Watched) -> None:
    top.press(b"q")


def interrupt(top: Watched) -> None:
    top.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("ended", [quit_by_key, interrupt])
async def test_keys_change_what_top_shows_and_its_end_leaves_the_terminal_as_it_was(
    tmp_path: Path, nursery: trio.Nursery, ended: Callable[[Watched], None]
) -> None:
    asked: list[tuple[object, object]] = []

    def top(sort: str, kind: str | None, **_: object) -> JsonObject:
        asked.append((sort, kind))
        return {"kinds": [KIND], "actors": [ACTOR]}

    stopping = trio.Event()
    await nursery.start(ControlSocket(tmp_path / "control-main.sock", {"top": top}).run, stopping)

    def operate() -> None:
        with watched(tmp_path) as screen:
            screen.until(b"order: depth")
            screen.press(b"t")
            screen.until(b"order: turn")
            screen.press(b"k")
            screen.until(b"kind: account")
            screen.press(b"k")
            screen.until(b"kind: all")
            ended(screen)
            screen.until(LEFT)
            assert screen.process.wait(PATIENCE) == 0
            assert termios.tcgetattr(screen.end) == screen.before

    with trio.fail_after(PATIENCE):
        await trio.to_thread.run_sync(operate, abandon_on_cancel=True)
    assert asked == [("depth", None), ("turn", None), ("turn", "account"), ("turn", None)]
    stopping.set()
