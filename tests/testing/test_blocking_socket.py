"""What is owed goes with the next message, and its answer is kept from asyncpg."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from troupe.supervision.testing.direct_connection import BlockingSocket, DirectLoop, Statements

COMMIT = Statements(("release", "RELEASE"))
REQUEST = b"B\0\0\0\x13\0release\0\0\0\0\0\0\0" + b"E\0\0\0\x09\0\0\0\0\0"
ANSWER = b"2\0\0\0\x04C\0\0\0\x0cRELEASE\0"


class Asyncpg:
    """asyncpg's connection, its protocol, its transport, and a socket on which these bytes arrive."""

    def __init__(self, *arriving: bytes) -> None:
        self.sent: list[bytes] = []
        self.given: list[bytes] = []
        self.lost = False
        self._arriving = list(arriving)
        self._protocol = self
        self._transport = SimpleNamespace(_sock=self, write=None)

    def ask(self, message: bytes) -> None:
        self._transport.write(memoryview(message))

    def data_received(self, data: bytes) -> None:
        self.given.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True

    def setblocking(self, flag: bool) -> None:
        assert flag

    def sendall(self, data: bytes) -> None:
        self.sent.append(bytes(data))

    def recv(self, most: int) -> bytes:
        return self._arriving.pop(0) if self._arriving else b""


def test_a_loop_that_runs_without_the_futures_of_asyncio_says_so() -> None:
    """Otherwise it waits without end for answers that nothing hands out."""

    async def work() -> None:
        await asyncio.sleep(0)

    loop = DirectLoop()
    loop.receive = lambda: None
    with loop.ordinary():
        loop.run_until_complete(work())
    running = work()
    with pytest.raises(RuntimeError, match="ordinary"):
        loop.run_until_complete(running)
    running.close()
    loop.close()


def test_what_is_owed_goes_before_the_next_message_once() -> None:
    blocking = BlockingSocket(asyncpg := Asyncpg())
    blocking.defer_answer(COMMIT)
    asyncpg.ask(b"Q1")
    asyncpg.ask(b"Q2")
    assert asyncpg.sent == [REQUEST + b"Q1", b"Q2"]


@pytest.mark.parametrize("cut", [1, len(ANSWER) - 1, len(ANSWER), len(ANSWER) + 1])
def test_its_answer_is_kept_from_asyncpg(cut: int) -> None:
    answer = ANSWER + b"first"
    blocking = BlockingSocket(asyncpg := Asyncpg(answer[:cut], answer[cut:], b"second"))
    blocking.defer_answer(COMMIT)
    asyncpg.ask(b"Q1")
    while b"".join(asyncpg.given) != b"first":
        blocking.receive()
    blocking.receive()
    assert b"".join(asyncpg.given) == b"firstsecond"


@pytest.mark.parametrize("answer", [b"E" + ANSWER, ANSWER[:-1]])
def test_another_answer_is_an_error(answer: bytes) -> None:
    blocking = BlockingSocket(asyncpg := Asyncpg(answer))
    blocking.defer_answer(COMMIT)
    asyncpg.ask(b"Q1")
    with pytest.raises(ConnectionError, match="PostgreSQL has answered"):
        blocking.receive()


def test_asyncpg_is_told_of_a_lost_connection() -> None:
    blocking = BlockingSocket(asyncpg := Asyncpg())
    blocking.receive()
    assert asyncpg.lost
    assert not asyncpg.given
