"""The handbook names all settings, events, facts and commands as the code does; a map names the files of a folder.

The README of the project is short, and links lead to something.
"""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from troupe.supervision.commands import troupe

from ..accept import ADVICE
from .imports import ROOMS
from .tables import HANDBOOK, TABLES

ROOT = Path(__file__).parents[2]
LONGEST_README = 200  # lines
LONGEST_README_OF_ACTORS = 150  # lines; a docstring explains the rest beside the code
LONGEST_GLOSSARY = 12  # words of our own; for everything else use the standard term
PAGES = [*ROOT.glob("*.md"), *(path for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.md"))]
LINK = re.compile(r"\[[^\]]+\]\(([^)\s…]+)\)")
# Folders with a map, and the file that it is in. The files of `storage` have the names of nouns.
MAPS = {
    "actors": "actors/README.md",
    "actors/kernel": "actors/kernel/__init__.py",
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
    assert table() in (ROOT / file).read_text("utf-8"), ADVICE


@pytest.mark.parametrize("words", [words for words, command in COMMANDS if not isinstance(command, click.Group)])
def test_the_handbook_names_every_command(words: str) -> None:
    assert words in (ROOT / HANDBOOK / "commands.md").read_text("utf-8")


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= LONGEST_README


def test_the_readme_of_actors_is_short_and_so_is_its_glossary() -> None:
    text = (ROOT / "actors/README.md").read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST_README_OF_ACTORS
    glossary = re.findall(r"^\| ([^|]+) \|", text.partition("## Glossary")[2], re.MULTILINE)
    words = [word for word in glossary if word != "word"]
    assert 0 < len(words) <= LONGEST_GLOSSARY
    assert [word for word in words if "," in word] == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_something(page: Path) -> None:
    dead: list[str] = []
    for link in LINK.findall(page.read_text("utf-8")):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(link)
    assert dead == []


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
def test_a_map_names_the_files_beside_its_folders(folder: str) -> None:
    text = (ROOT / MAPS[folder]).read_text("utf-8")
    files = {path.name for path in (ROOT / folder).glob("*.py")} - {"__init__.py"}
    assert {name for name in files if not re.search(rf"\b{re.escape(name)}\b", text)} == set()
