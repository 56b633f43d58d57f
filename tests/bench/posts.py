"""Posts to followers here whose homes are awake."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from .bench import Bench, lasting
from .fill import Cast, token
from .load import Caller, Load, Outcome, press, request
from .reads import HOME
from .samples import Row

NUMBERS = itertools.count(1)
SHOWN = 40  # the most statuses of a page


def post(bench: Bench) -> Row:
    """One post after the other, by an author with three followers."""
    return _few(bench, "a post, 3 followers", itertools.repeat(Cast.QUIET), 1)


def posts_at_once(bench: Bench) -> Row:
    """Posts by as many authors at once, each with three followers."""
    authors = itertools.cycle(Cast.AT_ONCE)
    return _few(bench, f"a post, 3 followers, {len(Cast.AT_ONCE)} at once", authors, len(Cast.AT_ONCE))


def _few(bench: Bench, name: str, authors: Iterator[int], at_once: int) -> Row:
    homes = [request("GET", HOME, token(number)) for number in Cast.FOLLOWERS]
    bench.ask_all(homes)
    requests = (request_to_post(author) for author in authors)

    def work() -> Outcome:
        return press(bench.port, requests, at_once, lasting(bench.seconds)).outcome()

    def check() -> None:
        """Check that a post reaches the followers."""
        id = id_in(bench.ask(next(requests)))
        missed = [home for home in bench.ask_all(homes) if id not in home]
        assert not missed, "a post is not in the homes of the followers"

    return bench.row(name, work, settles=True, before=check)


def crowd(bench: Bench, author: int, followers: int) -> Row:
    """Posts, which are in all homes when they are answered. At the end, all homes are looked at."""
    tokens = [token(bench.size.accounts - number) for number in range(followers)]
    homes = [request("GET", f"{HOME}?limit={SHOWN}", one) for one in tokens]
    bench.ask_all([request("GET", f"{HOME}?limit=1", one) for one in tokens])
    ids: list[bytes] = []

    def work() -> Outcome:
        load, caller = Load(), Caller(bench.port)
        ids[:] = [id_in(caller.timed(request_to_post(author), load)) for _ in range(bench.size.posts)]
        load.seconds = sum(load.waits)
        caller.close()
        return load.outcome()

    def check() -> None:
        """Check that a post is in the last home at once."""
        id = id_in(bench.ask(request_to_post(author)))
        assert id in bench.ask(homes[-1]), "a post is answered before it is in the homes of the followers"

    row = bench.row(f"a post, {followers:,} awake homes", work, settles=True, before=check)
    awake = bench.awake_homes()
    assert awake >= followers, f"only {awake} homes are awake"
    missed = sum(id not in page for page in bench.ask_all(homes) for id in ids[-SHOWN:])
    row.remarks.append(f"{missed} missed")
    return row


def request_to_post(author: int) -> bytes:
    """A request that posts something new."""
    body = f"status=Number+{next(NUMBERS)}+of+what+one+person+has+to+say+in+a+day,+in+so+many+words".encode()
    return request("POST", "/api/v1/statuses", token(author), body)


def id_in(body: bytes) -> bytes:
    """The id of a posted status, as it stands in a page."""
    return f'"id":"{json.loads(body)["id"]}"'.encode()
