"""Pages that nobody has asked for since the server started: each is asked for once, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from .answers import Check, entity, page_of_statuses
from .bench import Bench
from .fill import TAGS, Cast, token
from .filled import PAGE
from .load import Caller, Load, Outcome, request
from .reads import HOME, VERIFY
from .samples import Row

WARM_TAG = 3
Asked = tuple[bytes, Check]


def cold_rows(bench: Bench) -> dict[str, Callable[[], Row]]:
    """The measures by key. Each can be made once; those for which the database is too small are left out."""
    named = {
        "cold status": ("one status", _statuses(bench)),
        "cold deep": ("deep home page", _deep(bench)),
        "cold home": ("waking a home", _homes(bench)),
        "cold tag": ("tag timeline", _tags()),
        "cold verify": ("verify_credentials", _strangers(bench)),
    }
    return {
        key: lambda name=name, asked=asked: _once_each(bench, name, asked)
        for key, (name, asked) in named.items()
        if len(asked) > bench.runs
    }


def _once_each(bench: Bench, name: str, asked: Sequence[Asked]) -> Row:
    """Ask for a part of them in each run, after one that is not counted: a server's first page takes longer."""
    left, share = iter(asked[1:]), (len(asked) - 1) // bench.runs
    bench.ask(asked[0][0])

    def work() -> Outcome:
        load, caller, mine = Load(), Caller(bench.port), [*islice(left, share)]
        bodies = [caller.timed(what, load) for what, _ in mine]
        load.seconds = sum(load.waits)
        caller.close()
        for body, (_, check) in zip(bodies, mine, strict=True):
            check(body)
        return load.outcome()

    return bench.row(name, work, state="cold")


def _reader(path: str) -> bytes:
    return request("GET", path, token(Cast.READER))


def _statuses(bench: Bench) -> list[Asked]:
    return [(_reader(f"/api/v1/statuses/{id}"), entity(id=id)) for id in bench.filled.cold]


def _deep(bench: Bench) -> list[Asked]:
    # The last of them is the warm row's.
    return [(_reader(f"{HOME}?max_id={id}"), page_of_statuses(PAGE)) for id in bench.filled.deep[:-1]]


def _homes(bench: Bench) -> list[Asked]:
    return [
        (request("GET", HOME, token(number)), page_of_statuses(bench.filled.homes[number]))
        for number in bench.size.sleepers[: bench.size.cold_pool]
    ]


def _tags() -> list[Asked]:
    tags = (tag for tag in range(TAGS) if tag != WARM_TAG)
    return [(_reader(f"/api/v1/timelines/tag/t{tag}"), page_of_statuses(PAGE)) for tag in tags]


def _strangers(bench: Bench) -> list[Asked]:
    return [
        (request("GET", VERIFY, token(number)), entity(username=f"person{number}")) for number in bench.size.strangers
    ]
