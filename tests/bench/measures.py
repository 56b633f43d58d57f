"""What is measured: reading, posting, streaming, and what the server weighs."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from .abroad import AUTHOR, FOLLOWERS, HOSTS, Abroad
from .fill import FILTERS, Cast, Size, token
from .inbox import FIRST, SENDERS, creates, ignored
from .inbox import FOLLOWERS as FOLLOWERS_HERE
from .load import Caller, Listener, Load, hear, press, request
from .machine import Processes

CALLERS = 8
WARM_UP = 50
POSTS = 20
RECEIVED = 1_000  # activities of other servers
IDLE_SHARE = 0.05  # of a core: less than this is nothing to do
# Until what the answer did not wait for is done as well: effects that are handed over, PostgreSQL's own writing.
SETTLING = 1.0
DELIVERED = 60.0  # seconds: more than the deliveries of a post take


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. CPU in milliseconds an operation, waits in milliseconds."""

    name: str
    server: float
    postgres: float
    rate: float | None
    p50: float
    p99: float
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """A running server, filled, and who may say what to it."""

    port: int
    processes: Processes
    size: Size
    newest: str  # a public status
    others: Abroad

    def measures(self) -> dict[str, Callable[[float], Row]]:
        """All of them by name, each to be called with the seconds it may take."""
        reading = {
            name: partial(self._read, name, request("GET", path, who)) for name, (path, who) in self._pages().items()
        }
        return reading | {
            "post": self._posting, "crowd": self._crowd, "sockets": self._sockets,
            "deliveries": self._deliveries, "inbox": self._inbox, "received posts": self._received,
        }  # fmt: skip

    def _pages(self) -> dict[str, tuple[str, str | None]]:
        reader = token(Cast.READER)
        return {
            "home timeline": ("/api/v1/timelines/home", reader),
            f"home, {FILTERS} filters": ("/api/v1/timelines/home", token(Cast.FILTERING)),
            "public timeline": ("/api/v1/timelines/public", reader),
            "tag timeline": ("/api/v1/timelines/tag/t3", reader),
            "one status": (f"/api/v1/statuses/{self.newest}", reader),
            "verify_credentials": ("/api/v1/accounts/verify_credentials", reader),
            "notifications": ("/api/v1/notifications", reader),
            "instance": ("/api/v2/instance", None),
        }

    def _posting(self, seconds: float) -> Row:
        """One post after the other, by an author with three followers who are awake."""
        for follower in (10, 11, 12):
            self._once(request("GET", "/api/v1/timelines/home", token(follower)))
        return self._measure(
            "a post, 3 followers", lambda: press(self.port, _posts(Cast.QUIET), 1, _for(seconds)), settling=SETTLING
        )

    def _crowd(self, _: float) -> Row:
        """Posts to followers who are all awake. The answer comes when all have been told; then all are looked at."""
        followers = [token(self.size.accounts - n) for n in range(self.size.crowd)]
        homes = [request("GET", "/api/v1/timelines/home?limit=40", follower) for follower in followers]
        self._each(homes)
        ids: list[bytes] = []

        def work() -> Load:
            load, began = Load(), time.perf_counter()
            caller, watcher = Caller(self.port), Caller(self.port)
            for post in itertools.islice(_posts(Cast.LOUD), POSTS):
                start = time.perf_counter()
                ids.append(_id_of(caller.call(post)))
                while ids[-1] not in watcher.call(homes[-1]):
                    pass
                load.waits.append(time.perf_counter() - start)
            load.seconds = time.perf_counter() - began
            return load

        row = self._measure(f"a post, {self.size.crowd:,} followers", work, settling=SETTLING)
        missed = sum(id not in page for page in self._each(homes) for id in ids)
        return replace(row, remark=f"{missed} missed")

    def _sockets(self, _: float) -> Row:
        """Posts to followers who each listen on a WebSocket."""
        count = self.size.sockets
        listeners = [
            Listener(self.port, "/api/v1/streaming?stream=user", token(self.size.accounts - n)) for n in range(count)
        ]
        caller, lost = Caller(self.port), 0

        def work() -> Load:
            nonlocal lost
            load, began = Load(), time.perf_counter()
            for post in itertools.islice(_posts(Cast.STREAMED), POSTS):
                start = time.perf_counter()
                caller.ask(post)
                times = hear(listeners, count)
                load.waits += [at - start for at in times]
                lost += count - len(times)
                while not caller.take():
                    pass
            load.seconds = time.perf_counter() - began
            return load

        row = self._measure(f"a post, {count} WebSockets", work, POSTS, settling=SETTLING)
        lost += sum(len(listener.heard) != POSTS for listener in listeners)
        for listener in listeners:
            listener.close()
        return replace(row, remark=f"{lost} lost")

    def _deliveries(self, _: float) -> Row:
        """Posts to followers on other servers, one after the other. CPU and rate are those of a delivery."""
        caller, posts = Caller(self.port), _posts(AUTHOR)
        before = self.others.received

        def post(number: int) -> None:
            caller.call(next(posts))
            self.others.wait_for(before + (number + 1) * HOSTS, DELIVERED)

        def work() -> Load:
            load, began = Load(), time.perf_counter()
            for number in range(1, POSTS + 1):
                start = time.perf_counter()
                post(number)
                load.waits.append(time.perf_counter() - start)
            load.seconds = time.perf_counter() - began
            return load

        post(0)  # which makes the account's key
        name = f"a delivery, {FOLLOWERS:,} followers on {HOSTS} servers"
        row = self._measure(name, work, POSTS * HOSTS, settling=SETTLING)
        return replace(row, rate=HOSTS / (row.p50 / 1000), remark="p50, p99: until all have a post")

    def _inbox(self, _: float) -> Row:
        """Requests to the inbox by actors whose keys are known. It includes the queue, which drops what they bring."""
        requests = [*ignored(self.port, SENDERS + RECEIVED)]
        press(self.port, iter(requests[:SENDERS]), 1, lambda count, _: count >= SENDERS)
        return self._deliver(f"a request to the inbox, {SENDERS} servers", requests[SENDERS:])

    def _received(self, _: float) -> Row:
        """Posts of other servers for followers here who are awake, from the request until they are in timelines."""
        for follower in FOLLOWERS_HERE:
            self._once(request("GET", "/api/v1/timelines/home", token(follower)))
        requests = [*creates(self.port, SENDERS + RECEIVED)]
        press(self.port, iter(requests[:SENDERS]), 1, lambda count, _: count >= SENDERS)
        row = self._deliver(f"a post from {SENDERS} servers, {len(FOLLOWERS_HERE)} followers", requests[SENDERS:])
        paths = (f"/api/v1/accounts/{FIRST + number}" for number in range(SENDERS))
        answers = self._each([request("GET", path, token(Cast.READER)) for path in paths])
        missed = len(requests) - sum(json.loads(answer)["statuses_count"] for answer in answers)
        return replace(row, remark=f"{missed} missed")

    def _deliver(self, name: str, requests: list[bytes]) -> Row:
        """Send requests to the inbox, and wait until the server is idle."""
        self._calm()

        def work() -> Load:
            load = press(self.port, iter(requests), 1, lambda count, _: count >= len(requests))
            self._calm()
            return load

        return self._measure(name, work)

    def _calm(self) -> None:
        """Wait until the server has nothing to do."""
        until = time.monotonic() + DELIVERED
        before, now = -1.0, 0.0
        while now - before > IDLE_SHARE * SETTLING:
            assert time.monotonic() < until, "the server does not become idle"
            time.sleep(SETTLING)
            before, now = now, self.processes.used().server

    def _read(self, name: str, what: bytes, seconds: float) -> Row:
        again = itertools.repeat(what)
        press(self.port, again, CALLERS, lambda count, _: count >= WARM_UP)
        return self._measure(name, lambda: press(self.port, again, CALLERS, _for(seconds)))

    def _measure(
        self, name: str, work: Callable[[], Load], operations: int | None = None, *, settling: float = 0.0
    ) -> Row:
        before = self.processes.used()
        load = work()
        time.sleep(settling)
        used = self.processes.used() - before
        if load.wrong:
            raise AssertionError(load.wrong[0].decode())
        count = operations or len(load.waits)
        return Row(
            name, used.server / count * 1000, used.postgres / count * 1000,
            None if operations else count / load.seconds, load.wait(0.5) * 1000, load.wait(0.99) * 1000,
        )  # fmt: skip

    def _once(self, what: bytes) -> bytes:
        return self._each([what])[0]

    def _each(self, requests: list[bytes]) -> list[bytes]:
        caller = Caller(self.port)
        bodies = [caller.call(one) for one in requests]
        caller.close()
        return bodies


def _for(seconds: float) -> Callable[[int, float], bool]:
    return lambda _, passed: passed >= seconds


def _posts(author: int) -> Iterator[bytes]:
    for number in itertools.count():
        body = f"status=Number+{number}+of+what+one+person+has+to+say+in+a+day,+in+so+many+words".encode()
        yield request("POST", "/api/v1/statuses", token(author), body)


def _id_of(body: bytes) -> bytes:
    return f'"id":"{json.loads(body)["id"]}"'.encode()
