"""Processes that run a command of `troupe` and need not import it first, which is most of the CPU of a start.

They are forked from a process of `multiprocessing` that has imported the server and compiled its paths, and has run
nothing else of it. Everything else is as in a process that a shell starts: arguments, environment, folder, standard
streams, signals, process group.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import troupe

ROOT = Path(troupe.__file__).parent
IMPORTED = [
    *(f"troupe.supervision.commands.{path.stem}" for path in sorted(ROOT.glob("supervision/commands/*.py"))),
    "troupe.supervision.process",
    "troupe.supervision.tree",
    # The server imports its endpoints when it makes its application.
    *(".".join(("troupe", *path.relative_to(ROOT).with_suffix("").parts)) for path in sorted(ROOT.glob("http/*/*.py"))),
    f"{__package__}.preparing",
]

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(IMPORTED)


class ForkedProcess:
    """A running command, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        terminal: str = "",
        descriptors: tuple[int, int] | None = None,
    ) -> None:
        streams = [_Descriptor(number) for number in (stdin, stdout, stderr)]
        # A daemon: if a test has left it running, it is ended with the process of the tests, and not waited for.
        args = (list(words), cwd, env, streams, terminal, descriptors)
        self._process = FORKS.Process(target=_run, args=args, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, minus the signal's number if one ended it. None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired("troupe", timeout or 0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def started(
    words: Sequence[str], cwd: Path, env: dict[str, str], terminal: str = "",
    descriptors: tuple[int, int] | None = None,
) -> tuple[ForkedProcess, IO[str]]:  # fmt: skip
    """Start a command, in a terminal if one is named, and with these soft and hard limits of descriptors.

    Return it, and what it writes to both of its streams.
    """
    reading, writing = os.pipe()
    try:
        with open(os.devnull, "rb") as nothing:
            process = ForkedProcess(
                words, cwd=cwd, env=env, stdin=nothing.fileno(), stdout=writing, stderr=writing,
                terminal=terminal, descriptors=descriptors,
            )  # fmt: skip
    finally:
        os.close(writing)
    return process, os.fdopen(reading, "r")


def done(
    words: Sequence[str], cwd: Path, env: dict[str, str], text: str, timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a command that reads a text, to its end."""
    with TemporaryFile("w+") as given, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        given.write(text)
        given.seek(0)
        process = ForkedProcess(
            words, cwd=cwd, env=env, stdin=given.fileno(), stdout=output.fileno(), stderr=errors.fileno()
        )  # fmt: skip
        code = process.wait(timeout)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(list(words), code, output.read(), errors.read())


class _Descriptor:
    """A file descriptor of this process, which becomes one of the process that it is sent to."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[..., int], tuple[object]]:
        return _received, (DupFd(self._number),)


def _received(sent: Any) -> int:
    """Return the number of a descriptor that was sent. Any: `DupFd` is a function, and says not what it returns."""
    return sent.detach()


def _run(
    words: list[str], cwd: Path, env: dict[str, str], streams: list[int], terminal: str,
    descriptors: tuple[int, int] | None,
) -> None:  # fmt: skip
    """Become the process of a command."""
    from troupe.supervision.commands import main

    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, descriptors)
    os.setsid()  # no terminal that the tests may have been started in
    if terminal:
        os.open(terminal, os.O_RDWR)  # the first one that the leader of a session opens is its own
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Those that were inherited remember what the descriptors were, for example that one could seek in them.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["troupe", *words]
    main()
