"""Any input to any endpoint gives a clear error in the API's shape or a harmless result, and never a 5xx."""

from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import orjson
import pytest

from troupe.http.answers.answer import FinishedAnswer
from troupe.http.dispatch import respond
from troupe.http.intake.parameters import Input
from troupe.http.intake.request import Request
from troupe.http.router import SEGMENT, Endpoint, all_endpoints

from ..clients import SCOPES, Person, Stage, address
from .hostile import FORM, JSON, ODD, SEGMENTS, UNREADABLE, VALUES, Sent, chunks

WRITES = ("POST", "PUT", "PATCH", "DELETE")


@pytest.fixture
async def ada(stage: Stage) -> Person:
    """One of the staff, who may call everything."""
    return await stage.person("ada", (*SCOPES, "admin:read", "admin:write"), role="owner")


async def send(stage: Stage, person: Person, endpoint: Endpoint, sent: Sent, segment: str = "103") -> FinishedAnswer:
    """One request, past the framework: routing and sockets have tests of their own."""
    headers = [(b"authorization", f"Bearer {person.token}".encode())]
    if sent.content_type is not None:
        headers.append((b"content-type", sent.content_type.encode()))
    if sent.declared is not None:
        headers.append((b"content-length", str(sent.declared).encode()))
    request = Request(endpoint.method, endpoint.path, sent.query, headers, "127.0.0.1", chunks(sent.body), "r1")
    return await respond(stage.http_context, endpoint, request, dict.fromkeys(SEGMENT.findall(endpoint.path), segment))


def check(answer: FinishedAnswer, endpoint: Endpoint, name: str) -> None:
    """No 5xx; and an error is an object that says so, or a page where pages are."""
    said = f"{endpoint.method} {endpoint.path}, {name}: {answer.status} {answer.body[:200]!r}"
    assert answer.status < 500, said
    if answer.status >= 400 and not endpoint.page:
        assert answer.content_type == "application/json; charset=utf-8", said
        assert isinstance(orjson.loads(answer.body)["error"], str), said


def fields(model: type[Input], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of all parameters, those inside of others too."""
    for name, field in model.model_fields.items():
        yield (*prefix, name)
        for inner in inputs_in(field.annotation):
            yield from fields(inner, (*prefix, name))


def inputs_in(annotation: Any) -> Iterator[type[Input]]:
    if isinstance(annotation, type) and issubclass(annotation, Input):
        yield annotation
    for part in get_args(annotation):
        yield from inputs_in(part)


def sample(model: type[Input]) -> dict[str, object]:
    """Something for every parameter that must be there, so that the others are looked at."""
    return {name: "text" for name, field in model.model_fields.items() if field.is_required()}


def placed(path: tuple[str, ...], value: object) -> dict[str, object]:
    if not path:
        return {}
    name, *below = path
    return {name: placed(tuple(below), value) if below else value}


async def test_unreadable_parameters_are_refused_where_they_are_read(stage: Stage, ada: Person) -> None:
    for endpoint, sent in product(all_endpoints(), UNREADABLE):
        answer = await send(stage, ada, endpoint, sent)
        check(answer, endpoint, sent.name)
        if endpoint.admit is not None:  # its permission comes first, and ada is not signed in
            assert answer.status == 302, f"{endpoint.method} {endpoint.path}, {sent.name}: {answer.status}"
        elif endpoint.input is not None and endpoint.method in WRITES:
            assert answer.status == sent.refused, f"{endpoint.method} {endpoint.path}, {sent.name}: {answer.status}"
    assert stage.failures == []


async def test_what_is_odd_does_no_harm(stage: Stage, ada: Person) -> None:
    for endpoint, sent in product(all_endpoints(), ODD):
        check(await send(stage, ada, endpoint, sent), endpoint, sent.name)
    assert stage.failures == []


async def test_no_value_of_any_parameter_breaks_anything(stage: Stage, ada: Person) -> None:
    status = await ada.publish("something to point at")
    # An update is one function under two methods.
    taking = {
        endpoint.function: (endpoint, endpoint.input) for endpoint in all_endpoints() if endpoint.input is not None
    }
    for (endpoint, model), (name, value) in product(taking.values(), VALUES.items()):
        for path in fields(model):
            body = orjson.dumps(sample(model) | placed(path, written(value)))
            answer = await send(stage, ada, endpoint, Sent(name, JSON, body), status["id"])
            check(answer, endpoint, f"{'.'.join(path)} = {name}")
    assert stage.failures == []


def written(value: object) -> object:
    """JSON has numbers of any size, orjson writes those of 64 bits."""
    return value if not isinstance(value, int) or -(2**63) <= value < 2**64 else float(value)


async def test_segments_that_are_no_ids(stage: Stage, ada: Person) -> None:
    pointing = [endpoint for endpoint in all_endpoints() if "<" in endpoint.path]
    for endpoint, segment in product(pointing, SEGMENTS):
        path = address(endpoint, segment)
        answer = await ada.send(endpoint.method, path)
        assert answer.status < 500, f"{endpoint.method} {path}"
        if endpoint.page:
            assert "<script>" not in answer.text, f"{endpoint.method} {path}"
        else:
            assert answer.status < 400 or "error" in answer.json, f"{endpoint.method} {path}"
    assert stage.failures == []


async def test_the_page_of_the_sign_in_survives_forms_as_well(stage: Stage) -> None:
    browser = stage.anybody()
    for body in (b"decision=allow", b"client_id=x&redirect_uri=%3Cscript%3E&username=%3Cb%3E", b"client_id[a]=1"):
        answer = await browser.send("POST", "/oauth/authorize", headers={"Content-Type": FORM}, data=body)
        assert 400 <= answer.status < 500
        assert "<script>" not in answer.text
