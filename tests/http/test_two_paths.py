"""A difference between the fast path and the ordinary path is found, whatever it is in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from troupe.http import app, asgi
from troupe.http.answers.answer import FinishedAnswer, Headers
from troupe.http.intake.request import Body, request_of
from troupe.http.server.plain import Recogniser

from ..clients import Person, Stage
from .serving import serving

Patch = pytest.MonkeyPatch
ANSWER = FinishedAnswer.http_1


def lost_header(patch: Patch) -> None:
    encoded = asgi.encoded

    def encoded_in_part(headers: Headers) -> list[tuple[bytes, bytes]]:
        return encoded(headers[:-1])

    patch.setattr(asgi, "encoded", encoded_in_part)


def written_otherwise(patch: Patch, old: bytes, new: bytes) -> None:
    def write(*given: Any, **how: Any) -> bytes:
        return ANSWER(*given, **how).replace(old, new)

    patch.setattr(FinishedAnswer, "http_1", write)


def other_status(patch: Patch) -> None:
    written_otherwise(patch, b"200 OK", b"201 OK")


def other_body(patch: Patch) -> None:
    written_otherwise(patch, b"hello", b"howdy")


def lost_token(patch: Patch) -> None:
    def read(scope: Any, *more: Any) -> Any:
        return request_of({**scope, "headers": [one for one in scope["headers"] if one[0] != b"authorization"]}, *more)

    patch.setattr(app, "request_of", read)


def head_of_another(patch: Patch) -> None:
    """The fast path remembers a head, and takes it for all that come."""
    first, remembered = Recogniser.first, list[Any]()

    def find(*given: Any) -> Any:
        remembered.append(first(*given))
        return remembered[0]

    patch.setattr(Recogniser, "first", find)


def lost_end_of_a_body(patch: Patch) -> None:
    whole = Body.__aiter__

    async def shorter(body: Body) -> AsyncIterator[bytes]:
        async for chunk in whole(body):
            yield chunk[:-1]

    patch.setattr(Body, "__aiter__", shorter)


def closed_gate(patch: Patch) -> None:
    def refuse(gate: Any, *given: Any) -> Any:
        return gate._refuse(*given)

    patch.setattr(app.NetworkGate, "__call__", refuse)


@pytest.mark.parametrize(
    "difference",
    [lost_header, other_status, other_body, lost_token, head_of_another, lost_end_of_a_body, closed_gate],
)
async def test_a_difference_is_found(
    stage: Stage, ada: Person, difference: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    if not stage.fast_path:
        return  # there is nothing to compare
    status = await ada.publish("hello")
    difference(monkeypatch)
    with pytest.raises(AssertionError, match="fast path: "):
        await use(ada, status["id"])


async def use(person: Person, id: str) -> None:
    for path in (f"/api/v1/statuses/{id}", "/api/v1/instance"):
        await person.get(path)
    await person.publish("hello")


async def test_tests_with_sockets_run_with_the_fast_path_and_without_it(
    request: pytest.FixtureRequest, port: int
) -> None:
    chosen, name = request.config.getoption("--fast-path"), request.node.originalname
    items = (item for item in request.session.items if isinstance(item, pytest.Function))
    ran = [item.callspec.params["fast_path"] for item in items if item.originalname == name]
    assert ran == (["on", "off"] if chosen == "both" else [chosen])


async def test_no_other_test_gets_a_server_with_sockets(stage: Stage) -> None:
    with pytest.raises(AssertionError, match="both_ways"):
        async with serving(stage):
            pass
