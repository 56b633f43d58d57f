"""Which messages are commands, that is, are handled by the owner of an account: those whose turns can change rows."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from troupe.actors.account import AccountActor
from troupe.actors.codec import ACTORS, CODEC
from troupe.actors.kernel import Actor
from troupe.actors.kernel.message import LabelledMessage
from troupe.actors.timelines.list import ListTimeline

# The actors that own rows. All other actors only read.
OWNERS: Sequence[type[Actor]] = (AccountActor, ListTimeline)

#: The names of the actor in its turns and methods, and the methods that begin its transaction.
NAMES = {"account", "timeline", "self"}
WRITES = {"change", "change_alone", "transact", "transact_alone", "transact_checked", "transact_in"}

# Where turns are: in this room, and below for the test of the test.
CODE = ("troupe.actors.", __name__)


def changes_rows(actor: type[Actor], turn: Callable[..., object]) -> bool:
    """True if a transaction of the actor's own or of the database is in a turn, or in a function that the turn names.

    Functions are found by name, in tables of functions, as methods of the actor, and in closures.
    """
    seen: set[int] = set()
    ahead: list[object] = [turn]
    while ahead:
        value = ahead.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            ahead += value.values()
        elif isinstance(value, list | tuple):
            ahead += value
        elif isinstance(value, property):
            ahead.append(value.fget)
        elif isinstance(value, FunctionType) and value.__module__.startswith(CODE):
            ahead += [getattr(value, "__wrapped__", None), *(cell.cell_contents for cell in value.__closure__ or ())]
            for node in definitions(value.__code__.co_filename)[value.__code__.co_firstlineno]:
                if any(begins_transaction(part) for part in ast.walk(node)):
                    return True
                ahead += named_in(node, value.__globals__, actor)
    return False


@cache
def definitions(path: str) -> Mapping[int, Sequence[ast.AST]]:
    """Return the functions and lambdas of a file by the line on which their code begins."""
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault(first, []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def begins_transaction(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in WRITES:
        return False
    asked = ast.unparse(node.value)
    return asked in NAMES or asked.endswith("database")


def named_in(node: ast.AST, values: Mapping[str, Any], actor: type[Actor]) -> Iterator[object]:
    """Yield the values that a function names: of its module, of modules that it imports, and of its actor."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield values.get(part.id)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            within = values.get(part.value.id)
            if isinstance(within, ModuleType):
                yield getattr(within, part.attr, None)
            elif part.value.id in NAMES:
                yield inspect.getattr_static(actor, part.attr, None)


@pytest.mark.parametrize("actor", OWNERS)
def test_a_message_is_a_command_if_its_turn_can_change_rows(actor: type[Actor]) -> None:
    found = {message.__name__: changes_rows(actor, turn) for message, turn in actor.turns.items()}
    assert {message.__name__: message.at_owner for message in actor.turns} == found
    assert set(found.values()) == {False, True}


def test_actors_without_rows_have_no_commands() -> None:
    commands = {kind for _, kind in CODEC if issubclass(kind, LabelledMessage) and kind.at_owner}
    assert commands == {message for actor in OWNERS for message in actor.turns if message.at_owner}
    assert not any(message.at_owner for actor in ACTORS if actor not in OWNERS for message in actor.turns)


def direct(account: AccountActor) -> object:
    return account.change


def in_a_table(account: AccountActor) -> object:
    return TABLE["following"](account)


def by_another(undo: Callable[[AccountActor], object]) -> Callable[[AccountActor], object]:
    return lambda account: undo(account)


def reading(account: AccountActor) -> object:
    return account.entering, account.context.database.read, account.current_perspective()


TABLE = {"following": direct}


@pytest.mark.parametrize("turn", [direct, in_a_table, by_another(in_a_table)])
def test_a_transaction_is_found(turn: Callable[..., object]) -> None:
    assert changes_rows(AccountActor, turn)


def test_a_turn_that_reads_is_none() -> None:
    assert not changes_rows(AccountActor, by_another(reading))
