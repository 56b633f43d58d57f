"""The server as operators have it: `troupe serve` in a process of its own, and the command line beside it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO

import httpx

from troupe.storage.engine.cluster import Cluster

from .. import plain_http
from ..processes import until_gone
from . import forked
from .apps import App, app_of

PASSWORD = "correct horse battery"
SCOPES = "read write follow push"
STAFF_SCOPES = f"{SCOPES} admin:read admin:write"

# The console script, with the interpreter that runs the tests.
TROUPE = (sys.executable, "-c", "from troupe.supervision.commands import main; main()")

# Seconds. Far more than any of it takes: what a server hangs in is to be told, not waited for.
START = 60
STOP = 30
COMMAND = 60

LISTENING = '"server.listening"'

_numbers = count(1)
# Below the ports that the kernel gives to clients, so that a server which is down for a moment finds its own free.
_ports = count(20_000 + os.getpid() * 7 % 10_000)
# Held open while this process runs.
_reservations: list[socket.socket] = []


@dataclass(frozen=True, slots=True)
class Person:
    """A local account with a token of the command line's."""

    name: str
    id: str
    token: str
    url: str

    @property
    def app(self) -> App:
        """The account in a client app."""
        return app_of(self.url, self.token)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def http(self) -> httpx.AsyncClient:
        """The account in a program that speaks plain HTTP."""
        return plain_http.async_client(base_url=self.url, headers=self.headers, timeout=30)


class Server:
    """A data folder, a port, and the process that serves them while it runs."""

    def __init__(self, data: Path, **settings: str) -> None:
        self.data = data
        self.port = free_port()
        # Without previews: posts of tests have links to servers that are not there.
        self.settings = {"TROUPE_RATE_LIMITS": "false", "TROUPE_LINK_PREVIEWS": "false"} | settings
        self.process: subprocess.Popen[str] | forked.ForkedProcess | None = None
        self.listening = LISTENING  # what it says when it listens
        self.terminal = ""  # the path of the one that it is started in
        self.descriptors: tuple[int, int] | None = None  # its soft and its hard limit, if it is forked
        self._log: deque[str] = deque(maxlen=2000)
        self._listens = False

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def log(self) -> str:
        """The end of what all its processes have said."""
        return "".join(self._log)

    def events(self, word: str) -> list[dict[str, object]]:
        """The records of the supervision log with this event."""
        records = [json.loads(line) for line in list(self._log) if line.startswith("{")]
        return [record for record in records if record["event"] == word]

    def record_words(self) -> list[str]:
        """The events of the supervision log, in order."""
        return [json.loads(line)["event"] for line in list(self._log) if line.startswith("{")]

    def start(self, *through: str, argument: Callable[[list[str]], list[str]] = list) -> None:
        """Start it and wait until it listens, which it says in its log. `through` is a program that starts it.

        Without such a program it is forked (see `forked.py`).
        """
        settled = self.launch(*through, argument=argument) if through else self.fork()
        if not settled.wait(START) or not self._listens:
            self.kill()
            raise AssertionError(f"The server does not listen:\n{self.log}")

    def launch(self, *through: str, argument: Callable[[list[str]], list[str]] = list) -> threading.Event:
        """Start it, as the leader of a process group. The event is set when it listens, and when it has ended."""
        self.process = process = subprocess.Popen(
            [*through, *argument([*TROUPE, *self._serve()])],
            cwd=self.data.parent,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=self._take_terminal,
        )
        assert process.stdout is not None
        return self._follow(process.stdout)

    def fork(self) -> threading.Event:
        """As `launch`, without the time in which a server imports what it is made of."""
        self.process, output = forked.started(
            self._serve(), self.data.parent, self.environment(), self.terminal, self.descriptors
        )
        return self._follow(output)

    def _serve(self) -> tuple[str, ...]:
        return ("serve", "--data", str(self.data), "--port", str(self.port))

    def _follow(self, output: IO[str]) -> threading.Event:
        self._listens, settled = False, threading.Event()
        self._reader = threading.Thread(target=self._read, args=(output, settled), daemon=True)
        self._reader.start()
        return settled

    @property
    def pid(self) -> int:
        return self._running().pid

    def send(self, number: signal.Signals) -> int:
        """Send it a signal; its process number."""
        process = self._running()
        process.send_signal(number)
        return process.pid

    def wait(self) -> int:
        """Wait until it has ended and all it said is read; its exit code."""
        code = self._running().wait(STOP)
        self._reader.join(STOP)
        self.process = None
        return code

    def stop(self) -> int:
        """Ask it to stop in order; its exit code."""
        self.send(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it at once, wherever it is."""
        process = self._running()
        process.kill()
        process.wait()
        self.process = None

    def end(self) -> None:
        """After a test: nothing may be left, neither the server nor its PostgreSQL. Nobody reads its data any more."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if self.data.is_dir() and (pid := Cluster(self.data).running()) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT)  # PostgreSQL's immediate shutdown
        until_gone(self.data)

    def troupe(self, *words: str | Path, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """A command on this data folder, run to its end. It is forked, and so needs no time to import itself."""
        arguments = (*map(str, words), "--data", str(self.data))
        return forked.done(arguments, self.data.parent, self.environment() | settings, text, COMMAND)

    def run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """As `troupe`, in an interpreter of its own, as a shell does."""
        return subprocess.run(
            (*TROUPE, *words, "--data", str(self.data)),
            cwd=self.data.parent,
            env=self.environment(),
            input=text,
            capture_output=True,
            text=True,
            timeout=COMMAND,
            check=False,
        )

    def people(self, *names: str, role: str = "user") -> list[Person]:
        """Accounts with tokens, in one command. Tests share a server, so each name gets a number."""
        entries = [{"username": f"{name}{next(_numbers)}", "password": PASSWORD, "role": role} for name in names]
        lines = [json.dumps(entry | {"email": f"{entry['username']}@example.org"}) for entry in entries]
        scopes = SCOPES if role == "user" else STAFF_SCOPES
        made = self.troupe("accounts", "import", "-", "--scopes", scopes, text="\n".join(lines))
        assert made.returncode == 0, made.stderr
        answers = [json.loads(line) for line in made.stdout.splitlines()]
        return [Person(one["name"], one["id"], one["token"], self.url) for one in answers]

    def _read(self, output: IO[str], settled: threading.Event) -> None:
        """Keep what it says. The event is set when it listens, and also when it is gone."""
        for line in output:
            self._log.append(line)
            if self.listening in line:
                self._listens = True
                settled.set()
        settled.set()

    def environment(self) -> dict[str, str]:
        """The caller's, without what would choose another server's settings or database."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("TROUPE_", "PG"))}
        return plain | {"PYTHONUNBUFFERED": "1"} | self.settings

    def _take_terminal(self) -> None:
        if self.terminal:
            os.open(self.terminal, os.O_RDWR)  # the first one that the leader of a session opens is its own

    def _running(self) -> subprocess.Popen[str] | forked.ForkedProcess:
        assert self.process is not None, "the server was not started"
        return self.process


def follow(follower: Person, followed: Sequence[Person]) -> None:
    """One follows some others."""
    app = follower.app
    for person in followed:
        assert app.account_follow(person.id).following


def free_port() -> int:
    """A port that is free on both loopback addresses, and that no other process of the tests gets as well."""
    return next(port for port in _ports if _is_free(port) and _reserve(port))


def _is_free(port: int) -> bool:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind((host, port))
            except OSError:
                return False
    return True


def _reserve(port: int) -> bool:
    """Take the UDP port of the same number, as a mark for other test processes while a server does not listen."""
    reservation = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        reservation.bind(("127.0.0.1", port))
    except OSError:
        reservation.close()
        return False
    _reservations.append(reservation)
    return True
