"""The exit codes of all commands are those that the handbook and their help name."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.supervision.commands import troupe
from troupe.supervision.commands.examples import EXAMPLES, EXITS, WITH_DATABASE

from ..commands import COMMANDS

# All but the one that does not end by itself, and those that need no settings.
WALKED = sorted(COMMANDS.keys() - {"serve"})
WITHOUT_SETTINGS = {"completion", "help"}
# Those that make what is missing, or say what is there without a database.
WITHOUT_DATABASE = {
    *("completion", "config check", "config explain", "config show", "db upgrade", "migrate", "restore", "tree"),
    *("help", "rules add", "rules list", "terms list", "terms publish"),
}
# Those that are refused before they look for a database: no picture, no bucket.
REFUSED_BEFORE = {"emoji import", "media move"}

PASSWORD = "correct horse\ncorrect horse\n"  # one that is asked for, twice

# What is never right, whatever the database holds.
WRONG = {
    "accounts create": ("ada", "--email", "none", "--password", "x"),
    "accounts create ": ("a b", "--email", "a@example.org", "--password", "x"),
    "accounts modify": ("nobody", "--role", "king"),
    "announcements add": ("Hello", "--starts", "tomorrow"),
    "announcements publish": ("1", "--at", "tomorrow"),
    "audit": ("--since", "yesterday"),
    "config explain": ("log_levle",),
    "domains allow": ("not a domain",),
    "domains block": ("not a domain",),
    "domains purge": ("not a domain", "--yes"),
    "email-domains block": ("not a domain",),
    "emails block": ("nobody",),
    "emails test": ("nobody",),
    "emails unblock": ("nobody",),
    "help": ("nothing",),
    "ips block": ("nowhere",),
    "ips unblock": ("nowhere",),
    "media budget": ("much",),
    "settings history": ("colour",),
    "settings reset": ("colour",),
    "settings set": ("colour", "red"),
    "settings set ": ("search_results", "many"),
    "terms publish": ("terms.md", "--date", "soon"),
    "terms remove": ("soon", "--yes"),
    "tokens create": ("nobody", "--scopes", "bogus"),
    "tokens revoke": ("nobody", "one"),
}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with the files that examples name, but no settings and no database."""
    monkeypatch.chdir(tmp_path)
    for name in ("blocks.csv", "cat.png", "cats.tar.gz", "people.jsonl", "terms.md"):
        Path(name).touch()


def example(words: str, **environ: str) -> Result:
    """Run the first example of a command, with a confirmation if it needs one."""
    called = shlex.split(EXAMPLES[words][0].partition(" > ")[0])
    confirmed = any("--yes" in one.opts for one in COMMANDS[words].params) and not {"--yes", "--dry-run"} & {*called}
    return CliRunner().invoke(troupe, [*called, *(("--yes",) if confirmed else ())], env=environ, input=PASSWORD)


@pytest.mark.parametrize("words", WALKED)
def test_a_wrong_setting_has_the_code_of_a_wrong_call(words: str) -> None:
    ended = example(words, TROUPE_PORT="http")
    assert ended.exit_code == (0 if words in WITHOUT_SETTINGS else 2), ended.output
    assert ended.exit_code in EXITS.get(words, WITH_DATABASE)


@pytest.mark.parametrize("words", sorted(set(WALKED) - WITHOUT_DATABASE))
def test_a_database_or_a_server_that_is_missing_has_a_code_of_its_own(words: str) -> None:
    documented = EXITS.get(words, WITH_DATABASE)
    ended = example(words)
    assert ended.exit_code == (69 if 69 in documented and words not in REFUSED_BEFORE else 1), ended.output
    assert ended.exit_code in documented


@pytest.mark.parametrize("words", WRONG)
def test_what_is_never_right_has_the_code_of_a_wrong_call(words: str, folder: tuple[Path, str]) -> None:
    ended = CliRunner().invoke(troupe, [*words.split(), *WRONG[words], "--data", str(folder[0])])
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
