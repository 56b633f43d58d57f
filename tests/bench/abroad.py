"""A hundred other servers with a thousand followers of one account: their names lead to one process, which counts."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import trio

from troupe.storage.engine.database import EngineConnection

from .fill import Cast

HOSTS = 100
FOLLOWERS = 1_000
ANSWER = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

FILL = """
    INSERT INTO accounts (id, username, domain, uri, inbox_url, shared_inbox_url, created_at, updated_at)
    SELECT n, 'reader' || n, 'h' || n % {hosts} || '.test', 'http://h' || n % {hosts} || '.test/users/reader' || n,
        'http://h' || n % {hosts} || '.test/users/reader' || n || '/inbox', 'http://h' || n % {hosts} || '.test/inbox',
        now(), now()
    FROM generate_series(1, {followers}) n;
    INSERT INTO account_counts (account_id, following) SELECT n, 1 FROM generate_series(1, {followers}) n;
    INSERT INTO follows (id, account_id, target_account_id, created_at, from_domain)
    SELECT -a.id, a.id, author.id, now(), a.domain FROM accounts a, accounts author
    WHERE a.domain LIKE 'h%.test' AND author.username = 'person{author}';
"""


@dataclass
class Abroad:
    """What came to the other servers, counted."""

    port: int = 0
    received: int = 0
    more: threading.Condition = field(default_factory=threading.Condition)

    @property
    def test_hosts(self) -> str:
        """The setting by which a server finds these."""
        return ",".join(f"h{number}.test=127.0.0.1:{self.port}" for number in range(HOSTS))

    def wait_for(self, number: int, seconds: float) -> None:
        """Wait until so many deliveries have come since the beginning."""
        with self.more:
            assert self.more.wait_for(lambda: self.received >= number, seconds), f"{self.received} of {number} came"

    async def serve(self, stream: trio.SocketStream) -> None:
        """Take the requests of a connection, one after the other."""
        rest = b""
        while True:
            while b"\r\n\r\n" not in rest:
                if not (chunk := await stream.receive_some(65536)):
                    return
                rest += chunk
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            while len(rest) < length:
                rest += await stream.receive_some(65536)
            rest = rest[length:]
            await stream.send_all(ANSWER)
            with self.more:
                self.received += 1
                self.more.notify_all()


@contextmanager
def abroad() -> Generator[Abroad]:
    """The other servers, in a thread."""
    made, ready, ends = Abroad(), threading.Event(), list[trio.CancelScope]()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def run() -> None:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        made.port = listener.socket.getsockname()[1]
        tokens.append(trio.lowlevel.current_trio_token())
        with trio.CancelScope() as scope:
            ends.append(scope)
            ready.set()
            await trio.serve_listeners(made.serve, [listener])

    thread = threading.Thread(target=trio.run, args=(run,), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield made
    finally:
        tokens[0].run_sync_soon(ends[0].cancel)
        thread.join(10)


async def fill_abroad(db: EngineConnection) -> None:
    """Store the followers, beside those that are there."""
    await db.execute(FILL.format(hosts=HOSTS, followers=FOLLOWERS, author=Cast.ABROAD))
