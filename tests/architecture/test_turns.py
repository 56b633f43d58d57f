"""Each kind of actor takes its messages, in any order of imports."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from troupe.actors.kernel import Actor, Message, turn

ROOT = Path(__file__).parents[2]

# Imports what `troupe serve` imports, and nothing else of this process's.
PRINT_TURNS = """
import json
from troupe.actors.kernel import Actor
import troupe.supervision.tree

def derived(actor):
    for one in actor.__subclasses__():
        yield one
        yield from derived(one)

print(json.dumps({one.__name__: sorted(message.__name__ for message in one.turns) for one in derived(Actor)}))
"""

# They have the turns of `Timeline`, too.
TIMELINES = {"HomeTimeline", "ListTimeline", "PublicTimeline", "TagTimeline"}


@pytest.fixture(scope="module")
def turns() -> dict[str, set[str]]:
    printed = subprocess.run([sys.executable, "-c", PRINT_TURNS], check=True, capture_output=True, text=True).stdout
    return {actor: set(messages) for actor, messages in json.loads(printed).items()}


def written_turns() -> dict[str, set[str]]:
    """Return the messages of all `@turn(Actor, Message)` and of all acts of staff in the source, by actor."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "actors").rglob("*.py")):
        source = path.read_text("utf-8")
        if "@turn" not in source and "@act" not in source:  # parsing takes much longer
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for call in node.decorator_list:
                    if not isinstance(call, ast.Call):
                        continue
                    match ast.unparse(call.func), [ast.unparse(argument) for argument in call.args]:
                        case "turn", [actor, message]:
                            found.setdefault(actor, set()).add(message.rpartition(".")[2])
                        case "act" | "act_on_account", [message, *_]:
                            found.setdefault("AccountActor", set()).add(message)
                        case _:
                            pass
    return found


def test_each_actor_has_the_turns_that_are_written_for_it_and_timelines_those_for_statuses(
    turns: dict[str, set[str]],
) -> None:
    """The server imports every module that registers a turn."""
    written = written_turns()
    assert "StatusPublished" in written["Timeline"]
    expected = {
        actor: own | (written["Timeline"] if actor in TIMELINES else set[str]()) for actor, own in written.items()
    }
    assert {actor: turns[actor] for actor in expected} == expected
    assert set(turns) - {"EntityActor"} == set(written), "an actor that is made has turns of its own"


def test_a_turn_that_would_reach_some_derived_classes_only_is_refused() -> None:
    class Base(Actor):
        pass

    class Derived(Base):
        pass

    class Hint(Message[None]):
        pass

    def take(actor: Base, message: Hint) -> None:
        pass

    with pytest.raises(TypeError, match="inherited by Derived already"):
        turn(Base, Hint)(take)
    assert not Derived.turns


def test_commands_publish_and_promise_by_changes_alone() -> None:
    """What is said beside a change would be said also if the transaction fails, or not at all after a crash."""
    beside = ("outbox.promise(", "outbox.wake(", "facts.apply(", "facts.notify_actors(")
    found = {
        f"{path.name}: {way}"
        for path in (ROOT / "actors" / "commands").rglob("*.py")
        for way in beside
        if way in path.read_text("utf-8")
    }
    assert found == set()
