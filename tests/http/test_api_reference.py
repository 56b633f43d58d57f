"""The page about the API has all that the OpenAPI document has, in one page without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from troupe.http.openapi.document import document
from troupe.http.openapi.reference import Field, Operation, reference
from troupe.http.web import api_reference

from ..clients import Stage

JSON = "application/json"
ID = {"type": "string", "pattern": "^[0-9]{1,19}$"}
NULL = {"type": "null"}


@pytest.fixture(autouse=True)
def made_anew() -> Iterator[None]:
    """Other tests have servers with other addresses."""
    yield
    api_reference._reference.cache_clear()  # pyright: ignore[reportPrivateUsage]


async def test_every_endpoint_of_the_document_is_shown(stage: Stage) -> None:
    page = (await stage.anybody().get("/api")).text
    described: dict[str, Any] = await stage.anybody().done("GET", "/api/openapi.json")
    shown = re.findall(r"<summary><strong>([A-Z]+)</strong> <code>(.+?)</code>", page)
    assert sorted(shown) == sorted(
        (method.upper(), path) for path, methods in described["paths"].items() for method in methods
    )
    assert f"{len(shown)} endpoints" in page


async def test_an_endpoint_has_its_scopes_parameters_and_answer(stage: Stage) -> None:
    page = (await stage.anybody().get("/api")).text
    part = page.partition('<p id="post_api_v1_statuses">')[2].partition("</details>")[0]
    assert part.startswith(
        'Needs a token with the scope <code>write:statuses</code>. Answers with: <a href="#Status">Status</a> or '
        '<a href="#ScheduledStatus">ScheduledStatus</a>.</p>'
    )
    rows = [" ".join(re.sub(r"<.+?>", " ", row).split()) for row in re.findall(r"<tr><td>(.+?)</tr>", part)]
    assert "media_ids[] id body" in rows
    assert "poll[options][] text body" in rows
    assert "visibility one of public, unlisted, private, direct body" in rows


async def test_all_links_lead_to_something(stage: Stage) -> None:
    """Each object that an answer has is there, and no id is given twice."""
    page = (await stage.anybody().get("/api")).text
    ids = re.findall(r' id="(.+?)"', page)
    assert len(ids) == len(set(ids))
    assert {unescape(link) for link in re.findall(r'href="#(.+?)"', page)} <= {*ids}
    assert {"Status", "Account", "Error"} <= {*ids}


async def test_it_is_made_once_and_not_sent_to_a_browser_that_has_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(endpoints: Any, base_url: str) -> Any:
        made.append(base_url)
        return document(endpoints, base_url)

    monkeypatch.setattr(api_reference, "document", counted)
    first = await stage.anybody().get("/api")
    assert "<script" not in first.text
    assert "script-src" not in first.headers["Content-Security-Policy"]
    again = await stage.anybody().get("/api", headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status, again.status, again.text) == (200, 304, "")
    assert len(made) == 1


async def test_all_pages_lead_to_it(stage: Stage) -> None:
    assert '<a href="/api">API</a>' in (await stage.anybody().get("/")).text.partition("<footer")[2]


def test_parameters_inside_of_others_have_names_as_in_forms() -> None:
    (operation,) = operations({
        "parameters": [
            {"name": "id[]", "in": "query", "required": True, "schema": {"type": "array", "items": ID}},
            {"name": "poll", "in": "query", "required": False, "schema": {"anyOf": [ref("Poll"), NULL]}},
        ],
        "requestBody": {"content": {JSON: {"schema": ref("Form")}}},
    })  # fmt: skip
    assert [words(field) for field in operation.parameters] == [
        ("id[]", "query", "id", True),
        ("poll[options][]", "query", "text", False),
        ("poll[ends]", "query", "integer", False),
        ("polls[][options][]", "body", "text", False),
        ("polls[][ends]", "body", "integer", False),
        ("kind", "body", "one of a, b", True),
    ]


ACCESS: list[tuple[list[dict[str, list[str]]], str, tuple[str, ...]]] = [
    ([{}], "no token", ()),
    ([{"OAuth": []}], "a token", ()),
    ([{}, {"OAuth": ["read"]}], "no token, or a token", ("read",)),
    ([{"OAuth": ["read"]}, {"OAuth": ["follow"]}], "a token", ("read", "follow")),
]


@pytest.mark.parametrize(("security", "token", "scopes"), ACCESS)
def test_the_token_is_named_with_its_scopes(security: list[Any], token: str, scopes: tuple[str, ...]) -> None:
    (operation,) = operations({"security": security})
    assert (operation.token, operation.scopes) == (token, scopes)


def test_members_of_inner_objects_have_their_paths_as_names() -> None:
    (entity,) = (entity for entity in reference(described({})).entities if entity.name == "Thing")
    assert [words(field) for field in entity.members] == [
        ("id", "", "id or null", True),
        ("parts", "", "list of object", False),
        ("parts.inner", "", "Thing or null", True),
    ]


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def words(field: Field) -> tuple[str, str, str, bool]:
    return field.name, field.place, "".join(part.text for part in field.kind), field.required


def operations(operation: dict[str, Any]) -> tuple[Operation, ...]:
    (noun,) = reference(described(operation)).nouns
    return noun.operations


def described(operation: dict[str, Any]) -> dict[str, Any]:
    """A document with one endpoint."""
    whole: dict[str, Any] = {
        "operationId": "get_things", "tags": ["things"], "parameters": [], "security": [{}],
        "responses": {"200": {"content": {JSON: {"schema": {"type": "array", "items": ref("Thing")}}}}},
    }  # fmt: skip
    poll = {
        "options": {"type": "array", "items": {"type": "string"}},
        "ends": {"anyOf": [{"type": "integer"}, NULL]},
    }
    part = {"type": "object", "properties": {"inner": {"anyOf": [ref("Thing"), NULL]}}, "required": ["inner"]}
    thing = {"id": {"anyOf": [ID, NULL]}, "parts": {"type": "array", "items": part}}
    form = {"polls": {"type": "array", "items": ref("Poll")}, "kind": {"type": "string", "enum": ["a", "b"]}}
    return {
        "paths": {"/api/v1/things": {"post": whole | operation}},
        "components": {
            "schemas": {
                "Error": {"type": "object", "properties": {}, "required": []},
                "Poll": {"type": "object", "properties": poll, "required": ["options"]},
                "Thing": {"type": "object", "properties": thing, "required": ["id"]},
                "Form": {"type": "object", "properties": form, "required": ["kind"]},
            }
        },
    }
