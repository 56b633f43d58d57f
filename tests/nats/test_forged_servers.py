"""Servers that are broken or hostile, or no servers of NATS at all. Time is virtual."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest
import trio

from troupe.actors.cluster.nats.connection import LATEST_PONG, PING_EVERY
from troupe.actors.cluster.nats.protocol import LARGEST_PAYLOAD, LONGEST_LINE

from ..waiting import until
from .broker import Node, nodes

INFO = b'INFO {"max_payload":1048576,"headers":true}\r\n'
Talk = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def forged(*talks: Talk) -> AsyncGenerator[str]:
    """Yield the URL of a server that answers each connection by the next of these functions, at last by the last."""
    waiting = [*talks]

    async def answer(stream: trio.SocketStream) -> None:
        talk = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # when the node has gone
            await talk(stream)

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        port: int = listeners[0].socket.getsockname()[1]
        yield f"nats://s3cret@127.0.0.1:{port}"
        nursery.cancel_scope.cancel()


def saying(*pieces: bytes) -> Talk:
    """Return a server that says this, each after it has heard something, and then nothing more."""

    async def talk(stream: trio.SocketStream) -> None:
        for piece in pieces:
            await stream.send_all(piece)
            await stream.receive_some()
        await trio.sleep_forever()

    return talk


def greeting(*pieces: bytes) -> Talk:
    """Return a server that takes the login, says this, and then answers each PING."""

    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(INFO)
        heard = b""
        while b"PING\r\n" not in heard:
            heard += bytes(await stream.receive_some())
        await stream.send_all(b"PONG\r\n" + b"".join(pieces))
        while heard := await stream.receive_some():
            await stream.send_all(b"PONG\r\n" * heard.count(b"PING\r\n"))

    return talk


def message(payload: bytes, reply: bytes = b"troupe.test.n2", word: bytes = b"MSG", more: bytes = b"") -> bytes:
    return b"%b troupe.test.n1 1 %b %b%d\r\n%b\r\n" % (word, reply, more, len(payload), payload)


@pytest.mark.parametrize(
    ("talk", "reason"),
    [
        (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "it is no server of NATS"),
        (saying(b"PING\r\n"), "does not begin with INFO"),
        (saying(INFO + b"MSG a 1 1\r\nx\r\n"), "does not begin with INFO, and nothing else"),
        (saying(b"x" * LONGEST_LINE), "a line is too long"),
        (saying(b'INFO {"max_payload":10}\r\n'), "max_payload is too small"),
        (saying(b'INFO {"max_payload":-1}\r\n'), "max_payload is too small"),
        (saying(b"INFO {}}\r\n"), "not JSON"),
        (saying(), "does not answer within 2 s"),
        (saying(INFO[:-2]), "does not answer within 2 s"),
        (saying(INFO), "it has not answered for 1.25 s"),
        (greeting(b"hello\r\n"), "it sends what no server of NATS does"),
        (saying(b'INFO {"tls_required":true}\r\n', INFO), "TLS fails"),
    ],
)
async def test_a_server_that_can_not_be_used_is_explained_and_gets_no_second_chance_at_once(
    talk: Talk, reason: str
) -> None:
    tries = 0

    async def count(stream: trio.SocketStream) -> None:
        nonlocal tries
        tries += 1
        await talk(stream)

    async with forged(count) as url:
        node = Node(url)
        async with nodes(node, connected=False):
            await until(lambda: bool(node.log.records))
            assert not node.transport.is_connected
            assert reason in node.log.errors("bus.lost")[0]
            assert "s3cret" not in node.log.text
            assert tries <= 2


async def test_a_refusal_is_the_reason_also_when_the_connection_is_cut() -> None:
    async def cut(stream: trio.SocketStream) -> None:
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"-ERR 'Authorization Violation'\r\n")
        await stream.aclose()

    async with forged(cut, greeting()) as url:
        node = Node(url)
        async with nodes(node):
            assert "'Authorization Violation': correct the user" in node.log.errors("bus.lost")[0]


async def test_a_server_that_cuts_each_connection_is_not_stormed() -> None:
    tries = 0

    async def cut(stream: trio.SocketStream) -> None:
        nonlocal tries
        tries += 1
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"PONG\r\n-ERR 'Slow Consumer'\r\n")
        await stream.aclose()

    async with forged(cut) as url:
        node = Node(url)
        async with nodes(node, connected=False):
            await until(lambda: tries == 4)
            started = trio.current_time()
            await until(lambda: tries == 6)
            assert trio.current_time() - started > 0.8
            assert "it says 'Slow Consumer': this node reads too slowly" in node.log.errors("bus.lost")[0]


async def test_the_same_fault_is_written_once_until_a_server_is_found() -> None:
    tries = 0

    async def refuse(stream: trio.SocketStream) -> None:
        nonlocal tries
        tries += 1
        await stream.send_all(b"-ERR 'no'\r\n")

    async with forged(refuse, refuse, refuse, greeting(), refuse) as url:
        node = Node(url)
        async with nodes(node):
            assert (tries, node.log.count("bus.lost")) == (3, 1)


async def test_a_node_introduces_itself() -> None:
    heard = b""

    async def listen(stream: trio.SocketStream) -> None:
        nonlocal heard
        await stream.send_all(INFO)
        while not heard.endswith(b"PING\r\n"):
            heard += bytes(await stream.receive_some())
        await stream.send_all(b"PONG\r\n")
        await trio.sleep_forever()

    async with forged(listen) as url, nodes(Node(url)):
        pass
    assert heard == (
        b'CONNECT {"verbose":false,"pedantic":false,"echo":false,"protocol":1,"headers":true,"lang":"python",'
        b'"version":"1","name":"troupe n1","auth_token":"s3cret"}\r\nSUB troupe.test.n1 1\r\nPING\r\n'
    )


async def test_a_ping_of_the_server_is_answered() -> None:
    async def ask(stream: trio.SocketStream) -> None:
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"PONG\r\nPING\r\n")
        heard = b""
        while b"PONG\r\n" not in heard:
            heard += bytes(await stream.receive_some())
        await stream.send_all(message(b"answered"))
        await trio.sleep_forever()

    async with forged(ask) as url:
        node = Node(url)
        async with nodes(node):
            await node.until_received(("n2", b"answered"))


async def test_a_server_that_is_about_to_end_is_heard_to_its_end() -> None:
    replaced = trio.Event()
    heard = b""

    async def end(stream: trio.SocketStream) -> None:
        nonlocal heard
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b'PONG\r\nINFO {"ldm":true}\r\n')
        await replaced.wait()
        await stream.send_all(message(b"late"))
        while data := await stream.receive_some():
            heard += bytes(data)
            await stream.send_all(b"PONG\r\n" * data.count(b"PING\r\n"))

    async with forged(end, greeting()) as url:
        node = Node(url)
        async with nodes(node):
            await until(lambda: node.log.count("bus.found") == 2)
            replaced.set()
            await node.until_received(("n2", b"late"))
            await until(lambda: heard.endswith(b"UNSUB 1\r\nPING\r\n"))
            assert node.transport.is_connected
            assert node.log.count("bus.lost") == 0


async def test_messages_of_strangers_are_ignored() -> None:
    strange = [
        message(b"a", b"troupe.test.n1"), message(b"b", b"troupe.other.n2"), message(b"c", b"_INBOX.abc"),
        message(b"d", b""), message(b"", word=b"HMSG", more=b"0 "),
        message(b"NATS/1.0 503\r\n\r\n", word=b"HMSG", more=b"16 "),
        message(b"NATS/1.0\r\nTrace: 1\r\n\r\nx", word=b"HMSG", more=b"22 "),
        b"MSG troupe.test.n1 1 %d\r\n" % (LARGEST_PAYLOAD + 1) + bytes(LARGEST_PAYLOAD + 1) + b"\r\n",
        b"+OK\r\n-ERR 'Permissions Violation for Publish to \"x\"'\r\n", INFO,
    ]  # fmt: skip
    async with forged(greeting(*strange, message(b"whole"))) as url:
        node = Node(url)
        async with nodes(node):
            await until(lambda: ("n2", b"whole") in node.received)
            assert node.received == [("n2", b""), ("n2", b"whole")]
            assert node.log.errors("bus.dropped") == ["1 messages of an unknown program: larger than nodes send them"]


async def test_a_thousand_subjects_of_replies_are_read_and_not_kept() -> None:
    replies = [b"troupe.test.%d" % number for number in range(1000)]
    async with forged(greeting(*(message(b"x", reply) for reply in replies))) as url:
        node = Node(url)
        async with nodes(node):
            await until(lambda: len(node.received) == 1000)
            assert node.received[-1] == ("999", b"x")


async def test_junk_in_the_middle_cuts_the_connection_and_the_next_one_is_clean() -> None:
    async def break_off(stream: trio.SocketStream) -> None:
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"PONG\r\n" + message(b"1") + message(b"2")[:-3])
        await stream.receive_some()  # the next PING
        await stream.send_all(b"junk\r\n")

    async with forged(break_off, greeting(message(b"3"))) as url:
        node = Node(url)
        async with nodes(node):
            await until(lambda: len(node.received) == 2)
            assert node.received == [("n2", b"1"), ("n2", b"3")]
            assert "a payload is longer than its size" in node.log.errors("bus.lost")[0]


async def test_a_server_that_talks_and_never_listens_is_left() -> None:
    async def talk(stream: trio.SocketStream) -> None:
        await stream.send_all(INFO)
        await stream.receive_some()
        await stream.send_all(b"PONG\r\n")
        while True:
            await stream.send_all(message(b"x"))
            await trio.sleep(PING_EVERY)

    async with forged(talk, greeting()) as url:
        node = Node(url)
        async with nodes(node):
            with trio.fail_after(LATEST_PONG + 4 * PING_EVERY):
                await until(lambda: node.log.count("bus.lost") == 1)
            assert "it has not read anything for 5 s" in node.log.errors("bus.lost")[0]
            await node.until_connected()


async def test_limits_that_change_are_believed_or_refused() -> None:
    smaller = b'INFO {"max_payload":2000,"headers":true}\r\n'
    async with forged(greeting(smaller, message(b"1")), greeting(b'INFO {"max_payload":10}\r\n'), greeting()) as url:
        node = Node(url)
        async with nodes(node):
            await node.until_received(("n2", b"1"))
            node.send("n2", bytes(5000))
            assert node.log.count("bus.lost") == 0
        node = Node(url)
        async with nodes(node):
            await until(lambda: node.log.count("bus.found") == 2)
            assert "its max_payload is too small" in node.log.errors("bus.lost")[0]


async def test_a_transport_that_was_cancelled_takes_nothing() -> None:
    async with forged(greeting()) as url:
        node = Node(url)
        async with nodes(node):
            assert node.transport.is_connected
        assert not node.transport.is_connected
        node.send("n2", b"dropped")
