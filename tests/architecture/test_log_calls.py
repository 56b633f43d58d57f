"""Every call of the supervision log in the code uses the log's words, and every word is used."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from troupe.supervision.log.vocabulary import FACTS, LogEvent

ROOT = Path(__file__).parents[2]
MODULES = [path for room in ("actors", "http", "supervision") for path in (ROOT / room).rglob("*.py")]
WORDS = {event.word for event in LogEvent}


@cache
def calls() -> Sequence[tuple[str, str, list[str]]]:
    """Place, event and facts of every call of something called `record` or `written` with an event's name first."""
    return [call for module in MODULES for call in _calls(module)]


def _calls(module: Path) -> Iterator[tuple[str, str, list[str]]]:
    source = module.read_text("utf-8")
    if "record" in source or "written" in source:  # parsing takes much longer
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not _is_record(node.func) or not node.args:
                continue
            for event in _literals(node.args[0]):
                facts = [keyword.arg for keyword in node.keywords if keyword.arg]
                yield f"{module.relative_to(ROOT)}:{node.lineno}", event, facts


def test_every_event_that_is_recorded_is_in_the_vocabulary() -> None:
    assert [f"{place} {event}" for place, event, _ in calls() if event not in WORDS] == []


def test_every_fact_that_is_given_is_in_the_vocabulary() -> None:
    assert [f"{place} {fact}" for place, _, facts in calls() for fact in facts if fact not in FACTS] == []


def test_every_event_of_the_vocabulary_is_recorded_somewhere() -> None:
    assert WORDS - {event for _, event, _ in calls()} == set()


def _is_record(function: ast.expr) -> bool:
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    return name.lstrip("_") in ("record", "written")


def _literals(argument: ast.expr) -> list[str]:
    """The event's name, or both of `"a" if … else "b"`; a member of Event by its word."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return [argument.value]
    if isinstance(argument, ast.IfExp):
        return _literals(argument.body) + _literals(argument.orelse)
    if isinstance(argument, ast.Attribute):
        member = argument.value if argument.attr == "word" else argument
        return (
            [LogEvent[member.attr].word]
            if isinstance(member, ast.Attribute) and member.attr in LogEvent.__members__
            else []
        )
    return []
