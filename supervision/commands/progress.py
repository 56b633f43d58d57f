"""Long work of commands: a bar on a terminal, and a clean end after Ctrl-C.

The bar is on standard error, so that standard output has only the result. If standard error is no terminal, there is
no bar.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import click

from ...actors.rules.wording import number_of

ENDING = (signal.SIGTERM, signal.SIGHUP)

# Called with the number of further things that are done.
Update = Callable[[int], None]


class CommandInterrupted(click.ClickException):
    """Raised when the user or the system ended long work. The text has the finished part, and how to go on."""

    exit_code = 130


@contextmanager
def progress(
    label: str, total: int | None, going_on: str | Callable[[], str], *, things: str = "", in_bytes: bool = False
) -> Generator[Update]:
    """Show the progress of the block, which calls the given function with the number of things it has done.

    `things` is the noun of the counted things. After Ctrl-C or SIGTERM, the block ends with KeyboardInterrupt, and the
    command with the number of things done and `going_on`: a sentence that says how to go on.
    """
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more

    with _ending_as_by_keyboard():
        try:
            with _bar(label, total, in_bytes) as show:

                def update(more: int) -> None:
                    count(more)
                    show(more)

                yield update
        except KeyboardInterrupt:
            text = going_on if isinstance(going_on, str) else going_on()
            raise CommandInterrupted(f"Interrupted{_after(done, total, things)}. {text}") from None


@contextmanager
def interruptible(going_on: str) -> Generator[None]:
    """Handle interruptions as `progress` does, for work that has several bars or none."""
    with _ending_as_by_keyboard():
        try:
            yield
        except KeyboardInterrupt:
            raise CommandInterrupted(f"Interrupted. {going_on}") from None


def _after(done: int, total: int | None, things: str) -> str:
    if not things:
        return ""
    return f" after {number_of(done, things)}" if total is None else f" after {done} of {number_of(total, things)}"


@contextmanager
def _bar(label: str, total: int | None, in_bytes: bool) -> Generator[Update]:
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    # Only here: it takes longer to import than most commands run.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn(binary_units=True) if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(label, total=total)
        yield lambda more: shown.advance(task, more)


@contextmanager
def _ending_as_by_keyboard() -> Generator[None]:
    """Handle the signals that end a process like Ctrl-C, unless they are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does: Trio and asyncio have a handler of their own for it, and a shell may have it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)
