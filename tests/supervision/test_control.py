"""The control socket: one JSON line in, one out, for any input."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio

from troupe.storage.engine.json_values import JsonObject
from troupe.supervision.control import LONGEST_QUESTION, LOOKS, ControlSocket


def snapshot() -> object:
    return {"name": "troupe"}


def broken() -> object:
    raise LookupError("no such child")


@pytest.fixture
async def path(tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Path]:
    """A control socket that answers."""
    stopping = trio.Event()
    control = ControlSocket(tmp_path / "control-main.sock", {"tree": snapshot, "broken": broken})
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
    assert await ask(path, line) == {"error": "send one JSON object with a command"}


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
        await nursery.start(ControlSocket(path, {"tree": snapshot}).run, stopping)
        assert await ask(path, b'{"command": "tree"}\n') == {"name": "troupe"}
        stopping.set()
    assert not path.exists()


async def test_a_server_that_was_taken_over_from_leaves_the_socket_of_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "control-main.sock"
    first, second = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as until_taken_over:
            await until_taken_over.start(ControlSocket(path, {"tree": snapshot}).run, first)
            await nursery.start(ControlSocket(path, {"tree": lambda: {"name": "successor"}}).run, second)
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
        await nursery.start(ControlSocket(folder / "control-main.sock", {"tree": snapshot}).run, stopping)
        assert (folder / "control-main.sock").is_socket()
        stopping.set()


async def test_a_question_has_arguments_by_their_names(tmp_path: Path, nursery: trio.Nursery) -> None:
    async def actor(address: str, limit: int = 5) -> object:
        await trio.lowlevel.checkpoint()
        return {"address": address, "limit": limit}

    stopping, path = trio.Event(), tmp_path / "control-main.sock"
    await nursery.start(ControlSocket(path, {"actor": actor}).run, stopping)
    assert await ask(path, b'{"command": "actor", "address": "home/7"}\n') == {"address": "home/7", "limit": 5}
    assert await ask(path, b'{"command": "actor", "address": "home/7", "limit": 1}\n') == {
        "address": "home/7",
        "limit": 1,
    }
    missing = await ask(path, b'{"command": "actor"}\n')
    assert missing == {"error": "wrong arguments: missing a required argument: 'address'"}
    unknown = await ask(path, b'{"command": "actor", "address": "home/7", "self": 1}\n')
    assert unknown == {"error": "wrong arguments: got an unexpected keyword argument 'self'"}
    stopping.set()


async def test_a_thread_answers_when_the_loop_does_not(tmp_path: Path, nursery: trio.Nursery) -> None:
    """The loop is blocked for as long as the thread needs, as a turn blocks it."""
    path, stopping, answers = tmp_path / "control-main.sock", trio.Event(), list[JsonObject]()
    inside = {"top": lambda: {"by": "loop"}, "hand": lambda: {"by": "loop"}}
    control = ControlSocket(path, inside, answers_outside={"top": lambda: {"by": "thread"}})
    await nursery.start(control.run, stopping)

    def asks(*commands: str) -> None:
        for command in commands:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(5)
                line.connect(str(path))
                line.sendall(orjson.dumps({"command": command}) + b"\n")
                answers.append(orjson.loads(line.makefile("rb").readline()))

    def looks(ended: threading.Event) -> None:
        while not ended.wait(0.001):
            control.answer_outside()

    ended = threading.Event()
    threads = [threading.Thread(target=looks, args=(ended,)), threading.Thread(target=asks, args=("top", "hand"))]
    for thread in threads:
        thread.start()
    threads[1].join()  # the loop waits here, and accepts nothing
    ended.set()
    threads[0].join()
    assert answers[0] == {"by": "thread"}
    assert answers[1]["error"].startswith("unknown command (a turn keeps the server busy")
    assert await ask(path, b'{"command": "hand"}\n') == {"by": "loop"}
    stopping.set()


async def test_the_thread_leaves_the_loop_some_time(tmp_path: Path, nursery: trio.Nursery) -> None:
    path, stopping = tmp_path / "control-main.sock", trio.Event()
    control = ControlSocket(path, {}, answers_outside={"tree": snapshot})
    control.answer_outside()  # nobody listens yet
    await nursery.start(control.run, stopping)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        line.sendall(b'{"command": "tree"}\n')
        line.setblocking(False)
        for _ in range(LOOKS - 1):
            control.answer_outside()
        with pytest.raises(BlockingIOError):
            line.recv(100)
        control.answer_outside()
        assert orjson.loads(line.recv(100)) == {"name": "troupe"}
    stopping.set()
