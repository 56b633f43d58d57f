"""The control socket: one JSON line in, one out, for any input."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio

from troupe.supervision.control import LONGEST_QUESTION, Control


def portrait() -> object:
    return {"name": "troupe"}


def broken() -> object:
    raise LookupError("no such child")


@pytest.fixture
async def path(tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Path]:
    """A control socket that answers."""
    stopping = trio.Event()
    control = Control(tmp_path / "control-main.sock", {"tree": portrait, "broken": broken})
    await nursery.start(control.run, stopping)
    yield tmp_path / "control-main.sock"
    stopping.set()


async def ask(path: Path, line: bytes) -> Any:
    stream = await trio.open_unix_socket(str(path))
    async with stream:
        await stream.send_all(line)
        await stream.send_eof()
        answer = b"".join([part async for part in stream])
    return orjson.loads(answer)


async def test_a_command_is_answered(path: Path) -> None:
    assert await ask(path, b'{"command": "tree"}\n') == {"name": "troupe"}


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"tree\n", b"7\n", b"[]\n", b"{}\n", b'{"command": ["tree"]}\n', b"\xff\n"]
)
async def test_what_is_no_command_is_answered_too(path: Path, line: bytes) -> None:
    assert await ask(path, line) == {"error": "one JSON object with a command, please"}


async def test_an_unknown_command_is_named_as_such(path: Path) -> None:
    assert await ask(path, b'{"command": "dance"}\n') == {"error": "unknown command"}


async def test_an_answer_that_fails_does_not_take_the_socket_down(path: Path) -> None:
    assert await ask(path, b'{"command": "broken"}\n') == {"error": "LookupError: no such child"}
    assert await ask(path, b'{"command": "tree"}\n') == {"name": "troupe"}


async def test_a_question_is_not_read_without_end(path: Path) -> None:
    assert "error" in await ask(path, b"x" * LONGEST_QUESTION)


async def test_a_caller_that_hangs_up_does_not_disturb_the_next(path: Path) -> None:
    stream = await trio.open_unix_socket(str(path))
    await stream.send_all(b'{"command": "tr')
    await stream.aclose()
    assert await ask(path, b'{"command": "tree"}\n') == {"name": "troupe"}


async def test_only_the_owner_may_ask(path: Path) -> None:
    assert os.stat(path).st_mode & 0o077 == 0


async def test_what_an_earlier_server_left_is_replaced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "control-main.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(Control(path, {"tree": portrait}).run, stopping)
        assert await ask(path, b'{"command": "tree"}\n') == {"name": "troupe"}
        stopping.set()
    assert not path.exists()


async def test_a_server_that_was_taken_over_from_leaves_the_socket_of_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "control-main.sock"
    first, second = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as until_taken_over:
            await until_taken_over.start(Control(path, {"tree": portrait}).run, first)
            await nursery.start(Control(path, {"tree": lambda: {"name": "successor"}}).run, second)
            first.set()
        assert await ask(path, b'{"command": "tree"}\n') == {"name": "successor"}
        second.set()
    assert os.listdir(tmp_path) == []


async def test_a_data_folder_may_have_a_long_name(tmp_path: Path) -> None:
    """A socket's own name holds 107 bytes."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(Control(folder / "control-main.sock", {"tree": portrait}).run, stopping)
        assert (folder / "control-main.sock").is_socket()
        stopping.set()
