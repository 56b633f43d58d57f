"""What it costs to look at a server while all homes are awake: commands that ask it, and scrapes of its metrics."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx

from troupe.supervision.commands.running_server import ask

from ..end_to_end.server import TROUPE
from . import machine
from .bench import Bench
from .fill import token
from .listening import audience
from .load import PATIENCE, Caller, Load, Outcome, request
from .reads import HOME
from .samples import Row

SHOWN = 20  # lines, as the commands ask for
REFRESH = 2.0  # seconds between two refreshes of `troupe top`
SCRAPE = 15.0  # seconds between two scrapes, as Prometheus makes them by default
LIVE = request("GET", "/health/live")

Look = Callable[[], object]


def looks(bench: Bench, metrics: int) -> dict[str, Callable[[], Row]]:
    """The measures by key. `metrics` is the port on which metrics are read."""
    path = f"http://127.0.0.1:{metrics}/metrics"
    top = partial(_question, bench, "top", sort="depth", limit=SHOWN)
    return {
        "look top": lambda: _look(bench, "`troupe top`, a refresh", top, REFRESH),
        "look tree": lambda: _look(bench, "`troupe tree`", partial(_question, bench, "tree")),
        "look actor": lambda: _actor(bench),
        "look streams": lambda: _streams(bench),
        "look metrics": lambda: _metrics(bench, path),
        "command top": lambda: _command(bench, "top", "--once"),
        "command outbox": lambda: _command(bench, "outbox", "list"),
    }


def _look(bench: Bench, name: str, look: Look, every: float = 0.0) -> Row:
    """Look again and again. `every` are the seconds between two looks of a program that does not stop."""
    awake = _wake(bench)
    row = bench.row(name, lambda: _repeated(look, lambda load: load.seconds >= bench.seconds))
    alone = _longest_wait(bench, lambda: time.sleep(0.01))
    row.remarks.append(f"{awake:,} actors awake")
    if every:
        row.remarks.append(f"{row.median.together / every / 1000:.2%} of a core every {every:.0f} s")
    row.remarks.append(f"others wait {_longest_wait(bench, look):.0f} ms at most, without it {alone:.0f}")
    return row


def _actor(bench: Bench) -> Row:
    _wake(bench)
    found = _question(bench, "top", kind="account", limit=1)["actors"]
    return _look(bench, "`troupe actor show`", partial(_question, bench, "actor", address=found[0]["address"]))


def _streams(bench: Bench) -> Row:
    count = machine.sockets_allowed(bench.size.many_sockets)
    with audience(bench.port, [token(bench.size.accounts - number) for number in range(count)]):
        return _look(bench, f"`troupe streams`, {count:,} open", partial(_question, bench, "streams", limit=SHOWN))


def _metrics(bench: Bench, path: str) -> Row:
    """Scrape after each route was asked for once: the longest text that there can be."""
    count = _use_all_routes(bench)
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        return _look(bench, f"`/metrics`, {count} routes in use", lambda: client.get(path).raise_for_status(), SCRAPE)


def _command(bench: Bench, *words: str) -> Row:
    """A command with the process that it runs in, of whose CPU nothing is counted."""
    _wake(bench)
    command = (*TROUPE, *words, "--data", str(bench.control.parent))

    def run() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)

    name = f"`troupe {' '.join(words)}`, with its process"
    return bench.row(name, lambda: _repeated(run, lambda load: bool(load.waits)))


def _repeated(look: Look, enough: Callable[[Load], bool]) -> Outcome:
    load, began = Load(), time.perf_counter()
    while not enough(load):
        start = time.perf_counter()
        look()
        load.waits.append(time.perf_counter() - start)
        load.seconds = time.perf_counter() - began
    return load.outcome()


def _longest_wait(bench: Bench, look: Look) -> float:
    """Milliseconds that a small request waits at most while someone looks."""
    with _small_requests(bench) as waits:
        for _ in range(bench.looks):
            look()
    return max(waits) * 1000


@contextmanager
def _small_requests(bench: Bench) -> Generator[list[float]]:
    """Make small requests in a thread, one after the other. Yields what they wait, in seconds."""
    load, caller, over = Load(), Caller(bench.port), threading.Event()

    def run() -> None:
        caller.timed(LIVE, load)  # one at least, however soon it is over
        while not over.is_set():
            caller.timed(LIVE, load)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield load.waits
    finally:
        over.set()
        thread.join(PATIENCE)
        caller.close()


def _wake(bench: Bench) -> int:
    """Have all homes and their accounts awake; return the number of actors that are."""
    numbers = range(bench.size.accounts - bench.size.crowds[-1] + 1, bench.size.accounts + 1)
    if bench.awake_homes() < len(numbers):
        bench.ask_all([request("GET", f"{HOME}?limit=1", token(number)) for number in numbers])
    return sum(kind["awake"] for kind in _question(bench, "top")["kinds"])


def _question(bench: Bench, command: str, **arguments: object) -> Any:
    answer = ask(bench.control, command, **arguments)
    assert answer is not None, "the server has no control socket"
    return answer


def _use_all_routes(bench: Bench) -> int:
    """Ask for each route that the server describes, without a token; return how many there are."""
    base = f"http://127.0.0.1:{bench.port}"
    with httpx.Client(base_url=base, trust_env=False, timeout=PATIENCE) as client:
        paths: dict[str, dict[str, object]] = client.get("/api/openapi.json").raise_for_status().json()["paths"]
        routes = [(method, path) for path, methods in paths.items() for method in methods]
        for method, path in routes:
            with client.stream(method, path.replace("{", "").replace("}", "")):
                pass  # what it answers does not matter
    return len(routes)
