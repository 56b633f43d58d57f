"""The README names every setting, event, fact and command, in the words of the code; that of a room names its files."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from troupe.supervision.commands import troupe

from .imports import ROOMS
from .tables import TABLES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
# Folders with a map, and the README that it is in. The files of `storage` have the names of nouns.
MAPS = {
    "actors": "actors/README.md",
    "actors/kernel": "actors/README.md",
    "http": "http/README.md",
    "supervision": "supervision/README.md",
}


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


@pytest.mark.parametrize(("table", "file"), TABLES.items())
def test_the_readmes_hold_the_tables_that_the_code_prints(table: Callable[[], str], file: str) -> None:
    assert table() in (ROOT / file).read_text("utf-8"), "run `python -m tests.architecture.tables`"


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


@pytest.mark.parametrize("room", ROOMS)
def test_the_readme_of_a_room_names_its_folders(room: str) -> None:
    text = (ROOT / room / "README.md").read_text("utf-8")
    folders = {path.parent.name for path in (ROOT / room).glob("*/*") if path.parent.name != "__pycache__"}
    assert {folder for folder in folders if f"{folder}/" not in text} == set()


@pytest.mark.parametrize("folder", MAPS)
def test_the_readme_of_a_room_names_the_files_beside_its_folders(folder: str) -> None:
    text = (ROOT / MAPS[folder]).read_text("utf-8")
    files = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    assert {name for name in files if not re.search(rf"\b{re.escape(name)}\b", text)} == set()
