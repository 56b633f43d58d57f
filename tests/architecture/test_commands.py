"""What each command promises to an operator: JSON for lists, a rehearsal for changes of many things, a confirmation.

`commands.txt` says which command has which of the three; `make accept` writes it. What destroys is listed here.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from troupe.supervision.commands import options, troupe

from ..commands import COMMANDS

PACKAGE = Path(options.__file__).parent

# Those that destroy, as they are called: nothing brings back what they delete, or the access that they end.
DESTROYS = {
    "accounts cull": (),
    "accounts delete": ("bob",),
    "accounts merge": ("a@far.example", "b@far.example"),
    "accounts modify": ("bob", "--reset-password"),
    "accounts reject": ("bob",),
    "announcements remove": ("1",),
    "dead-letters drop": ("1",),
    "domains purge": ("far.example",),
    "emoji remove": ("cat",),
    "federation drop": ("far.example",),
    "outbox drop": ("1",),
    "rules remove": ("1",),
    "sessions revoke": ("bob",),
    "statuses remove": ("1", "2"),
    "terms remove": ("2026-12-01",),
    "tokens revoke": ("bob", "--all"),
}

# Those of them that name one thing: a person who does that knows what goes.
ONE_THING = {
    *("accounts modify", "accounts reject", "announcements remove", "emoji remove", "rules remove", "terms remove"),
}

# Last words of commands that list or show something.
LISTING = {"list", "show", "waiting", "history", "audit", "tree", "top", "doctor"}


def flags(words: str) -> set[str]:
    return {flag for parameter in COMMANDS[words].params for flag in parameter.opts}


@pytest.mark.parametrize("words", [words for words in COMMANDS if words.split()[-1] in LISTING])
def test_what_lists_answers_in_json_too(words: str) -> None:
    assert "--json" in flags(words)


def test_what_destroys_many_things_can_be_rehearsed() -> None:
    assert {words for words in DESTROYS if "--dry-run" not in flags(words)} == ONE_THING


@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_what_destroys_and_nothing_else_takes_a_yes(words: str) -> None:
    assert ("--yes" in flags(words)) is (words in DESTROYS)


@pytest.mark.parametrize("words", sorted(DESTROYS))
def test_what_destroys_is_refused_where_nobody_can_be_asked(words: str, tmp_path: Path) -> None:
    called = [*words.split(), *DESTROYS[words], "--data", str(tmp_path / "data")]
    refused = CliRunner().invoke(troupe, called, input="yes\n")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: Nothing was done: this needs a confirmation. Add --yes, or run it in a terminal.\n"
    ), "before the database, which is missing here, was asked"


def test_numbers_of_things_are_written_by_one_function() -> None:
    """Else there is "1 files" in some place."""
    bare = re.compile(
        r"\{(len\([^{}]*\)|[\w.]*(count|total|number|rows|files|removed|erased)|\w+\['[a-z_]+'\])\} [a-z]+s\b"
    )
    found = {path.name: bare.findall(path.read_text("utf-8")) for path in PACKAGE.glob("*.py")}
    assert {name for name, places in found.items() if places} == set()


def test_there_is_one_way_to_ask() -> None:
    asks = ("click.confirm", "confirmation_option", "click.prompt")
    found = {path.name for path in PACKAGE.glob("*.py") if any(word in path.read_text("utf-8") for word in asks)}
    assert found == {"options.py"}
