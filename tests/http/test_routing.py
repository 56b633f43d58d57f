"""Endpoints receive what they name; the rest is data."""

import re
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from troupe.http.answers.answer import EMPTY, Answer
from troupe.http.answers.errors import NotFound
from troupe.http.app import SLASHES
from troupe.http.intake.parameters import Input
from troupe.http.router import PathTable, Router, all_endpoints, path_id, path_text


class Wanted(Input):
    q: str = ""


def test_an_update_is_put_and_patch() -> None:
    registry = Router()

    @registry.put("/thing/<id>", auth="user", scopes=("write",))
    def update(id: int, wanted: Wanted) -> Answer:
        return EMPTY

    assert [endpoint.method for endpoint in registry.endpoints] == ["PUT", "PATCH"]
    assert registry.endpoints[0].input is Wanted
    assert registry.endpoints[0].scopes == ("write",)


def test_a_function_with_an_unknown_parameter_is_refused_at_import() -> None:
    registry = Router()

    def show(mystery: dict[str, Any]) -> Answer:
        return EMPTY

    with pytest.raises(TypeError, match="mystery"):
        registry.get("/thing")(show)


def test_a_function_that_ignores_its_path_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match="id"):
        Router().get("/thing/<id>")(lambda: EMPTY)


@pytest.mark.parametrize("segment", ["x", "-1", "1.0", "²", "9" * 19, "9" * 40, ""])
def test_what_can_be_no_id_is_missing(segment: str) -> None:
    with pytest.raises(NotFound):
        path_id(segment)


@pytest.mark.parametrize("segment", ["a\0", "\ud800", "a\udfffb"])
def test_a_name_that_no_row_can_hold_is_missing(segment: str) -> None:
    with pytest.raises(NotFound):
        path_text(segment)


def test_a_name_may_be_in_any_script() -> None:
    assert path_text("gr\u00fcn\u200c") == "gr\u00fcn\u200c"


def test_every_endpoint_of_the_api_is_mounted_once() -> None:
    mounted = [(endpoint.method, endpoint.path) for endpoint in all_endpoints()]
    assert len(mounted) == len(set(mounted))


def test_every_module_of_the_api_registers_its_endpoints_by_being_there() -> None:
    (folder,) = import_module("troupe.http.api").__path__
    there = {f"troupe.http.api.{path.stem}" for path in Path(folder).glob("*.py")}
    assert len(there) > 35
    assert there - {endpoint.function.__module__ for endpoint in all_endpoints()} == set()


def test_the_order_of_endpoints_is_that_of_the_names_of_their_modules() -> None:
    modules = [endpoint.function.__module__ for endpoint in all_endpoints()]
    assert modules == sorted(modules)


def test_two_endpoints_of_one_method_and_path_are_refused() -> None:
    router = Router()

    def by_id(id: str) -> Answer:
        return EMPTY

    def by_name(name: str) -> Answer:
        return EMPTY

    router.get("/thing/<id>")(by_id)
    router.get("/thing/<name>")(by_name)
    with pytest.raises(ValueError, match="GET /thing/<name> is declared twice"):
        PathTable(router.endpoints)


def shown(table: PathTable, method: str, path: str) -> tuple[str, dict[str, str]] | list[str]:
    """The endpoint and the values of a path, or the methods that it has instead."""
    found = table.find(method, path)
    return table.methods_of(path) if found is None else (found[0].path, found[1])


@pytest.mark.parametrize(
    ("path", "pattern", "values"),
    [
        ("/a", "/<name>", {"name": "a"}),
        ("/a/", "/<name>", {"name": "a"}),
        ("/@a", "/@<name>", {"name": "a"}),
        ("/@", "/<name>", {"name": "@"}),
        ("/a.rss", "/<name>.rss", {"name": "a"}),
        ("/.rss", "/<name>", {"name": ".rss"}),
        ("/@a.rss", "/@<name>.rss", {"name": "a"}),
        ("/@a.rss.rss", "/@<name>.rss", {"name": "a.rss"}),
        ("/@.rss", "/<name>.rss", {"name": "@"}),
        ("/@ada.rss", "/@ada.rss", {}),
        ("/@ada.rss/", "/@ada.rss", {}),
        ("/@ada.rss/inbox", "/<name>/inbox", {"name": "@ada.rss"}),
    ],
)
def test_the_pattern_with_the_most_text_is_found(path: str, pattern: str, values: dict[str, str]) -> None:
    router = Router()

    def of_name(name: str) -> Answer:
        return EMPTY

    for one in ("/<name>", "/@<name>", "/<name>.rss", "/@<name>.rss", "/<name>/inbox"):
        router.get(one)(of_name)
    router.get("/@ada.rss")(lambda: EMPTY)
    assert shown(PathTable(router.endpoints), "GET", path) == (pattern, values)


def test_the_table_finds_what_the_router_of_werkzeug_finds() -> None:
    """Paths of words of the endpoints' own paths, in any order, and of what clients may write between the slashes."""
    table = PathTable(all_endpoints())
    rules = [Rule(one.path, endpoint=one.path, methods=[one.method]) for one in all_endpoints()]
    theirs = Map(rules, merge_slashes=False, strict_slashes=False).bind("localhost")
    chance, paths = Random(7), [endpoint.path for endpoint in all_endpoints()]
    words = [*{word for path in paths for word in path.split("/")}, "1", "@ada", "ada.rss", "@ada.rss", ".rss", "a\nb"]
    for _ in range(4000):
        parts = re.sub(r"<\w+>", lambda _: chance.choice(words), chance.choice(paths)).split("/")[1:]
        for _ in range(chance.choice((0, 0, 1, 2))):
            parts[chance.randrange(len(parts))] = chance.choice(words)
        path = SLASHES.sub("/", "/" + "/".join(parts) + chance.choice(("", "", "/")))
        method = chance.choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
        try:
            expected: object = theirs.match(path, method)
        except HTTPException as error:
            expected = sorted(getattr(error, "valid_methods", ()))
        assert shown(table, method, path) == expected, (method, path)
