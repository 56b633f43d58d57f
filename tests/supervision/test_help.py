"""The help of each command, the manual that is made of it, and completion in the shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner

from troupe.actors.configuration import Settings
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import troupe
from troupe.supervision.commands.examples import EXAMPLES, EXITS
from troupe.supervision.manual import FILES as FILES_OF_TROUPE
from troupe.supervision.manual import manual

from ..commands import COMMANDS
from ..stand_ins import answering

# What the examples name.
FILES = ("blocks.csv", "cat.png", "cats.tar.gz", "people.jsonl", "terms.md")


def test_every_command_has_examples_and_nothing_else_has() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()
    assert EXITS.keys() <= COMMANDS.keys()


@pytest.mark.parametrize("words", sorted(COMMANDS))
def test_help_says_what_a_command_does_with_examples_and_exit_codes(words: str) -> None:
    shown = CliRunner().invoke(troupe, [*words.split(), "--help"])
    assert shown.exit_code == 0
    for example in EXAMPLES[words]:
        assert f"\n    troupe {example}\n" in shown.stdout
    assert re.search(r"\n  Exit codes:\n    0   \w", shown.stdout)


@pytest.mark.parametrize(
    ("words", "nearest"), [("acounts", "'accounts'"), ("docter", "'doctor'"), ("accounts creat", "'create'")]
)
def test_a_misspelt_command_is_answered_with_the_nearest(words: str, nearest: str) -> None:
    shown = CliRunner().invoke(troupe, words.split())
    assert shown.exit_code == 2
    assert nearest in shown.stderr.partition("Did you mean")[2]


def called(words: str) -> list[str]:
    """Return the arguments of a process that runs a command."""
    return [sys.executable, "-c", "from troupe.supervision.commands import main; main()", *words.split()]


@pytest.mark.parametrize("words", ["--help", "completion bash"])
def test_an_output_that_can_not_be_written_is_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(called(words), stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.parametrize(
    ("words", "shown"),
    [("config show", "Tea \\U0001f375 ö".encode("latin-1")), ("config show --json", "Tea \U0001f375 ö".encode())],
)
def test_letters_that_a_terminal_has_not_are_escaped_and_json_is_utf_8(words: str, shown: bytes) -> None:
    environ = os.environ | {"TROUPE_TITLE": "Tea \U0001f375 ö", "PYTHONIOENCODING": "latin-1"}
    run = subprocess.run(called(words), env=environ, capture_output=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, b"")
    assert shown in run.stdout


@pytest.mark.parametrize("example", [example for examples in EXAMPLES.values() for example in examples])
def test_every_example_is_a_right_call(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("click.termui.hidden_prompt_func", answering("correct horse"))  # a password is asked for
    for name in FILES:
        Path(name).touch()
    words = shlex.split(re.split(" [<>] ", example)[0])
    name = next(one for one in (" ".join(words[:2]), words[0]) if one in COMMANDS)
    command = COMMANDS[name]
    given = words[len(name.split()) :]
    command.make_context(name, given).close()  # raises for what it can't parse


def test_the_manual_has_every_command_option_and_setting() -> None:
    page = manual()
    text = page.replace("\\-", "-")
    for words, command in COMMANDS.items():
        assert f".SS troupe {words} " in text
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert re.search(rf"^\.B {parameter.opts[0]}\b", text, re.MULTILINE), (words, parameter.name)
    for name in Settings.model_fields:
        assert f"\n.B {name}\n" in text


def test_no_text_of_the_manual_is_taken_for_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES_OF_TROUPE, "'strange", ".a file")
    assert "\n.I \\&'strange\n\\&.a file\n" in manual()
    requests = {line.split(" ")[0] for line in manual().splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".nf", ".fi"}
    assert "\b" not in manual()


def test_the_manual_is_printed_by_a_command() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "troupe.supervision.manual"], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout == manual()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(shell: str) -> None:
    printed = CliRunner().invoke(troupe, ["completion", shell])
    assert printed.exit_code == 0
    assert f"_TROUPE_COMPLETE={shell}_complete" in printed.stdout


def test_bash_takes_its_completion() -> None:
    script = CliRunner().invoke(troupe, ["completion", "bash"]).stdout
    taken = subprocess.run(
        ["bash", "-c", f"{script}\ncomplete -p troupe"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "troupe" in taken.stdout


def completed(*words: str) -> list[str]:
    """What a shell offers for the last word."""
    kind = get_completion_class("bash")
    assert kind is not None
    shell = kind(troupe, {}, "troupe", "_TROUPE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_commands_options_subjects_and_names_of_settings_are_completed() -> None:
    assert completed("acc") == ["accounts"]
    assert completed("accounts", "si") == ["silence"]
    assert completed("doctor", "--on") == ["--online"]
    assert completed("help", "b") == ["backup"]
    assert completed("help", "co") == ["commands", "containers"]
    assert completed("config", "explain", "log-f") == ["log_file", "log_file_size", "log_files", "log_format"]


def test_names_of_accounts_are_completed_while_the_database_runs(
    folder: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, dsn = folder
    for name in ("ada_l", "adalbert", "Adam", "bob"):
        words = ["accounts", "create", name, "--email", f"{name}@example.org", "--password", "correct horse"]
        assert CliRunner().invoke(troupe, [*words, "--data", str(data)]).exit_code == 0
    assert completed("accounts", "show", "--data", str(data), "ada") == ["ada_l", "adalbert", "Adam"]
    assert completed("tokens", "list", "--data", str(data), "@ada_") == ["ada_l"]
    transact_once(dsn, send_away, "adalbert")
    assert completed("accounts", "show", "--data", str(data), "ada") == ["ada_l", "Adam"], "others are named by handles"
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    assert completed("sessions", "revoke", "b") == ["bob"]
    monkeypatch.delenv("TROUPE_DATABASE_URL")
    assert completed("accounts", "show", "--data", str(tmp_path / "none"), "a") == []
    assert not (tmp_path / "none").exists(), "nothing is started or made for it"


async def send_away(db: Connection, username: str) -> None:
    """Make an account one of another server."""
    await db.execute("UPDATE accounts SET domain = 'far.example' WHERE username = $1", username)


def test_a_completion_shows_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUPE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert completed("accounts", "show", "a") == []
    monkeypatch.setenv("TROUPE_PORT", "none")
    assert completed("accounts", "show", "a") == []
