"""The question before a command destroys, at a terminal and without one."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from troupe.supervision.commands.options import ask_first
from troupe.supervision.commands.refusals import CommandRefused

QUESTION = "Delete @bob for ever?"


@contextmanager
def typed(monkeypatch: pytest.MonkeyPatch, answer: str) -> Generator[None]:
    """A terminal at which this answer is typed."""
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, f"{answer}\n".encode())
        with open(terminal, encoding="utf-8") as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            yield
    finally:
        os.close(keyboard)


@pytest.mark.parametrize("answer", ["yes", " YES "])
def test_a_typed_yes_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str) -> None:
    with typed(monkeypatch, answer):
        ask_first(lambda: QUESTION, yes=False)
    assert capsys.readouterr().err.startswith(f"{QUESTION} Type yes to go on")


@pytest.mark.parametrize("answer", ["", "y", "no", "yes, please"])
def test_every_other_answer_ends_the_command(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    with typed(monkeypatch, answer), pytest.raises(CommandRefused, match=r"Nothing was done\."):
        ask_first(lambda: QUESTION, yes=False)


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with open(os.devnull, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        ask_first(lambda: str(asked.append(QUESTION)), yes=True)
        with pytest.raises(CommandRefused, match="Add --yes"):
            ask_first(lambda: str(asked.append(QUESTION)), yes=False)
    assert asked == []
