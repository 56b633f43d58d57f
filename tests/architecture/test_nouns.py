"""One noun names the file in every room: `storage/polls.py`, `actors/commands/polls.py`, `http/api/polls.py`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from .imports import MODULES, ROOT, imported

#: What several commands share, and no noun of the API.
SHARED_COMMANDS = {"interacting", "pairs", "quoting", "report_handling", "sending", "striking"}

#: What other servers tell, stored as what is told here. Their endpoint is the inbox.
RECEIVED = {
    "follower_lists": "follower_lists",
    "late_parts": "remote_statuses",
    "moves": "moves",
    "received_quotes": "quotes",
    "received_statuses": "remote_statuses",
    "refollows": "follows",
}

#: What several entities share.
SHARED_ENTITIES = {"rendered", "times"}

#: A file of entities has the name of a family, as clients know it; its first endpoints and rows have these.
ENTITIES = {
    "admin": "admin_accounts",  # the namespace of the API; with the audit log and the numbers of the dashboard
    "application": "apps",  # the path of the API
    "status_version": "edits",  # with scheduled statuses and translations
}

#: Endpoints that send a command of another noun.
BORROWED = {
    ("emails", "registration"),  # a path of its own, for a step of signing up
    ("notification_groups", "notifications"),  # a group is dismissed by dismissing its notifications
    ("phrases", "filters"),  # the first version of the API, where each phrase is a filter
    ("follows", "follow_requests"),  # /accounts/:id/remove_from_followers, beside follow and unfollow
    ("statuses", "scheduled_statuses"),  # POST /statuses makes the one or the other
    ("tags", "featured_tags"),  # /tags/:name/feature, beside the paths below /featured_tags
}

#: Pages for staff that show a part of a noun.
STAFF_PAGES = {
    "rules": "operator_texts",
    "terms": "operator_texts",
    "texts": "operator_texts",
}

#: Pages for staff about the running server, which no rows are about.
RUNNING = {"actor", "actors", "log", "overview", "tree"}

#: What pages for staff share.
SHARED_PAGES = {"live", "member", "navigation", "staff_page"}


#: Rows of other servers, and those for staff, stand in rooms of storage.
ROOMS_OF_ROWS = ("storage", "storage/federation", "storage/upkeep")


def modules(*folders: str) -> list[str]:
    paths = [path for folder in folders for path in (ROOT / folder).glob("*.py")]
    return sorted(path.stem for path in paths if path.stem != "__init__")


COMMANDS = [name for name in modules("actors/commands") if name not in SHARED_COMMANDS]


@pytest.mark.parametrize("noun", COMMANDS)
def test_what_an_account_commands_is_stored_and_served_under_one_name(noun: str) -> None:
    if noun in RECEIVED:
        assert RECEIVED[noun] in modules(*ROOMS_OF_ROWS)
        return
    assert noun in modules(*ROOMS_OF_ROWS)
    assert noun in modules("http/api") + modules("http/settings") + modules("http/admin") + modules("http/staff")


@pytest.mark.parametrize("noun", modules("http/api"))
def test_endpoints_send_the_commands_of_their_noun(noun: str) -> None:
    names = (name.split(".") for _, name in imported(ROOT / "http" / "api" / f"{noun}.py"))
    commands = {name[2] for name in names if name[:2] == ["actors", "commands"] and len(name) > 2}
    assert {command for command in commands - {noun} if (noun, command) not in BORROWED} == set()


@pytest.mark.parametrize("page", [name for name in modules("http/staff") if name not in RUNNING | SHARED_PAGES])
def test_a_page_for_staff_has_the_name_of_the_rows_that_it_shows(page: str) -> None:
    assert STAFF_PAGES.get(page, page) in modules(*ROOMS_OF_ROWS)


@pytest.mark.parametrize("entity", [name for name in modules("http/entities") if name not in SHARED_ENTITIES])
def test_an_entity_is_one_of_the_files_that_have_its_plural(entity: str) -> None:
    plurals = {entity, f"{entity}s", f"{entity}es", ENTITIES.get(entity, entity)}
    assert plurals & {*modules("http/api"), *modules(*ROOMS_OF_ROWS)}


def test_every_exception_is_needed() -> None:
    assert {*SHARED_COMMANDS} <= {*modules("actors/commands")}
    assert {*STAFF_PAGES, *RUNNING, *SHARED_PAGES} <= {*modules("http/staff")}
    assert not {*STAFF_PAGES, *RUNNING} & {*modules(*ROOMS_OF_ROWS)}
    assert {*SHARED_ENTITIES, *ENTITIES} <= {*modules("http/entities")}
    for noun, command in BORROWED:
        assert f"actors.commands.{command}" in imports_of(ROOT / "http" / "api" / f"{noun}.py")


def imports_of(module: Path) -> set[str]:
    return {name for _, name in imported(module)}


def test_a_class_name_is_used_once() -> None:
    """A reader who looks a name up finds one thing. An underscore before it makes no second name."""
    places: dict[str, list[str]] = {}
    for one in definitions():
        if one.is_class:
            places.setdefault(one.name.lstrip("_"), []).append(one.path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_self_is_a_word_for_methods_alone() -> None:
    """A function that works on an actor calls its parameter by the actor's kind: `account`, `timeline`."""
    found = [one for one in definitions() if "self" in one.parameters and not one.is_in_class]
    assert found == []


@dataclass(frozen=True)
class Definition:
    """A class, or a function with its parameters. The tree of a module is too large to be kept."""

    path: str
    line: int
    name: str
    is_class: bool
    is_in_class: bool  # directly
    parameters: tuple[str, ...]


@cache
def definitions() -> list[Definition]:
    """All classes and functions of the four rooms."""
    return [
        definition
        for path in MODULES
        for definition in _definitions(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")))
    ]


def _definitions(path: str, node: ast.AST) -> Iterator[Definition]:
    is_in_class = isinstance(node, ast.ClassDef)
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef():
                yield Definition(path, child.lineno, child.name, True, is_in_class, ())
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parameters = (*child.args.posonlyargs, *child.args.args)
                yield Definition(
                    path, child.lineno, child.name, False, is_in_class, tuple(one.arg for one in parameters)
                )
            case _:
                pass
        # No expression holds a definition, and most nodes are parts of expressions.
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _definitions(path, child)
