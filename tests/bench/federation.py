"""What goes to other servers, and what comes from them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from .abroad import FOLLOWERS, HOSTS, Abroad
from .bench import Bench
from .fill import Cast, token
from .inbox import FIRST, SENDERS, creates, ignored
from .load import PATIENCE, Caller, Load, Outcome, press, request
from .posts import request_to_post
from .reads import HOME
from .samples import Row

POSTS = 20  # a run
DELIVERED = 60.0  # seconds: more than the deliveries of a post take


def deliveries(bench: Bench, others: Abroad) -> Row:
    """Posts to followers on other servers, one after the other. CPU and rate are those of a delivery."""
    caller, count = Caller(bench.port), max(1, int(POSTS * bench.size.scale))

    def post() -> float:
        start, before = time.perf_counter(), others.received
        caller.call(request_to_post(Cast.ABROAD))
        others.wait_for(before + HOSTS, DELIVERED)
        return time.perf_counter() - start

    def work() -> Outcome:
        load = Load(waits=[post() for _ in range(count)])
        load.seconds = sum(load.waits)
        return load.outcome(count * HOSTS)

    post()  # which makes the account's key
    row = bench.row(f"a delivery, {FOLLOWERS:,} followers on {HOSTS} servers", work, settles=True)
    caller.close()
    row.remarks.append("p50, p99: until all have a post")
    return row


def inbox(bench: Bench) -> Row:
    """Requests to the inbox by actors whose keys are known. It includes the queue, which drops what they bring."""
    return _deliver(bench, f"a request to the inbox, {SENDERS} servers", ignored)


def received(bench: Bench) -> Row:
    """Posts of other servers for followers here who are awake, from the request until they are in timelines."""
    bench.ask_all([request("GET", HOME, token(follower)) for follower in Cast.FOLLOWERS])
    sent = [0]

    def counted(port: int, number: int) -> Iterator[bytes]:
        sent[0] += number
        return creates(port, number)

    row = _deliver(bench, f"a post from {SENDERS} servers, {len(Cast.FOLLOWERS)} followers", counted)
    # One that has to be tried again comes seconds after the others.
    give_up_at = time.monotonic() + PATIENCE
    while (missed := sent[0] - _stored(bench)) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    row.remarks.append(f"{missed} missed")
    return row


def _stored(bench: Bench) -> int:
    """Return how many posts of the senders are here."""
    paths = (f"/api/v1/accounts/{FIRST + number}" for number in range(SENDERS))
    answers = bench.ask_all([request("GET", path, token(Cast.READER)) for path in paths])
    return sum(json.loads(answer)["statuses_count"] for answer in answers)


def _deliver(bench: Bench, name: str, made: Callable[[int, int], Iterator[bytes]]) -> Row:
    """Send requests to the inbox, and wait until the server is idle."""
    signed: list[bytes] = []

    def sign() -> None:
        signed[:] = made(bench.port, bench.size.received)
        bench.calm()

    def work() -> Outcome:
        load = _sent(bench, signed)
        bench.calm()
        return load.outcome()

    _sent(bench, [*made(bench.port, SENDERS)]).outcome()  # every sender becomes known
    return bench.row(name, work, before=sign)


def _sent(bench: Bench, requests: list[bytes]) -> Load:
    return press(bench.port, iter(requests), 1, lambda count, _: count >= len(requests))
