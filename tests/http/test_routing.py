"""Endpoints receive what they name; the rest is data."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from troupe.http.answers.answer import EMPTY, Answer
from troupe.http.answers.errors import NotFound
from troupe.http.endpoints import PathTable, all_endpoints
from troupe.http.intake.parameters import Input
from troupe.http.router import Router, path_id, path_text


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
