"""What each command promises to an operator: JSON for lists, a rehearsal for changes of many things, a confirmation.

Every command has a place in one of these tables. A new one fails until it has.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from troupe.supervision.commands import options, troupe

from ..commands import COMMANDS

PACKAGE = Path(options.__file__).parent

# Those that list or show something.
LISTS = {
    *("accounts list", "accounts show", "announcements list", "appeals list", "audit", "domains allowed"),
    *(
        "config check",
        "config explain",
        "config show",
        "doctor",
        "domains list",
        "email-domains list",
        "emoji list",
        "federation hosts",
        "federation show",
        "invites list",
        "ips list",
        "links waiting",
        "media usage",
        "posts waiting",
        "settings history",
        "settings list",
    ),
    *("reports list", "reports show", "rules list", "tags waiting", "terms list", "tokens list", "tree"),
    *("actor show", "dead-letters list", "dead-letters show", "outbox list", "request", "streams", "top"),
}

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

# Those that delete or change many things at once.
MANY = {
    *("dead-letters drop", "outbox drop", "outbox retry"),
    *(
        "accounts cull",
        "accounts delete",
        "accounts import",
        "accounts merge",
        "accounts refresh",
        "accounts rotate-keys",
        "domains import",
        "domains purge",
        "emoji import",
        "federation drop",
        "media move",
        "media remove",
    ),
    *("sessions revoke", "statuses remove", "statuses sensitive", "statuses vacuum", "tokens revoke"),
}

# Those that add one thing, or change one in a way that another command undoes.
PLAIN = {
    *("accounts approve", "accounts create", "accounts disable", "accounts enable", "accounts sensitive"),
    *("accounts silence", "accounts suspend", "accounts unsensitive", "accounts unsilence", "accounts unsuspend"),
    *("announcements add", "announcements publish", "announcements unpublish", "appeals approve", "appeals reject"),
    *("domains allow", "domains block", "domains disallow", "domains export", "domains unblock"),
    *("email-domains block", "email-domains unblock", "emails block", "emails test", "emails unblock"),
    *("emoji add", "emoji category", "emoji disable", "emoji enable", "invites create", "invites expire"),
    *(
        "backup",
        "db move",
        "db shell",
        "db upgrade",
        "ips block",
        "ips unblock",
        "links allow",
        "links forbid",
        "media budget",
        "migrate",
        "posts allow",
        "posts forbid",
    ),
    *(
        "federation retry",
        "reports assign",
        "reports note",
        "reports reopen",
        "reports resolve",
        "restore",
        "rules add",
        "rules change",
        "completion",
        "help",
        "serve",
    ),
    *("actor release", "actor restart", "dead-letters replay"),
    *("settings reset", "settings set"),
    *("tags allow", "tags forbid", "terms publish", "tokens create"),
}


def flags(words: str) -> set[str]:
    return {flag for parameter in COMMANDS[words].params for flag in parameter.opts}


def test_every_command_has_its_place() -> None:
    assert LISTS | DESTROYS.keys() | MANY | PLAIN == COMMANDS.keys()
    assert not PLAIN & (LISTS | DESTROYS.keys() | MANY)


@pytest.mark.parametrize("words", sorted(LISTS))
def test_what_lists_answers_in_json_too(words: str) -> None:
    assert "--json" in flags(words)


@pytest.mark.parametrize("words", sorted(MANY))
def test_what_changes_many_things_can_be_rehearsed(words: str) -> None:
    assert "--dry-run" in flags(words)


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
