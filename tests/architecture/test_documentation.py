"""The README tells of every setting, event, fact and command, in the words of the code."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from troupe.supervision.commands import troupe

from .tables import TABLES

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    """Every command with the words that call it, groups too."""
    context = click.Context(group)
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append((f"{path} {name}", command))
        if isinstance(command, click.Group):
            found += commands(command, f"{path} {name}")
    return found


COMMANDS = commands(troupe, "troupe")


@pytest.mark.parametrize("table", TABLES)
def test_the_readme_holds_the_tables_that_the_code_prints(table: Callable[[], str]) -> None:
    assert table() in README, "run `python -m tests.architecture.tables`"


@pytest.mark.parametrize("words", [words for words, command in COMMANDS if not isinstance(command, click.Group)])
def test_the_readme_names_every_command(words: str) -> None:
    assert words in README


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_every_command_and_option_has_help(words: str, command: click.Command) -> None:
    assert command.help, words
    without = [
        parameter.name for parameter in command.params if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert without == []
