"""A server whose clients take more file descriptors than there are for them."""

import json
import os
import resource

import pytest

from troupe.http.intake.multipart import KEPT_IN_MEMORY
from troupe.http.server import limits

from ..clients import Person, Stage
from .serving import request, rest, say, serving
from .uploading import picture, upload

pytestmark = pytest.mark.usefixtures("both_ways")

MIB = 1024 * 1024


def leave_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on only twenty more descriptors may be opened for clients."""
    following = [os.dup(0) for _ in range(20)]
    for descriptor in following:
        os.close(descriptor)
    monkeypatch.setattr(limits, "end_of_connections", lambda: following[-1])


async def test_clients_beyond_the_limit_get_503_until_some_have_left(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_few(monkeypatch)
    told: list[str] = []

    def note(event: str, **_: object) -> None:
        told.append(event)

    async with serving(stage, record=note) as server:
        connected = [await server.connect() for _ in range(30)]
        answer = await say(server.port, request(b"GET /api/v1/instance"))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 5\r\n" in head
        assert list(json.loads(body)) == ["error"]
        assert set(told) == {"connections.full"}
        for stream in connected:
            await stream.aclose()
        while not (await say(server.port, request(b"GET /api/v1/instance"))).startswith(b"HTTP/1.1 200"):
            pass


async def test_those_that_are_refused_and_say_nothing_are_not_kept(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_few(monkeypatch)
    async with serving(stage) as server:
        connected = [await server.connect() for _ in range(30)]
        assert await rest(connected[-1]) == b""
        for stream in connected:
            await stream.aclose()


@pytest.mark.parametrize("limit", [64, 256, 1024, 4096, MIB, resource.RLIM_INFINITY])
def test_connections_leave_some_descriptors_to_files_and_both_some_to_the_server(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_system(_: int) -> tuple[int, int]:
        return limit, limit

    monkeypatch.setattr(resource, "getrlimit", of_the_system)
    connections, files = limits.end_of_connections(), limits.end_of_files()
    whole = limits.WANTED if limit == resource.RLIM_INFINITY else limit
    assert whole / 4 <= connections <= files - whole // 8
    assert files <= whole - min(limits.RESERVE, whole / 2)


async def test_files_of_requests_are_refused_when_too_many_are_open(
    stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = picture(), picture(1000, 1000)
    assert len(small) < KEPT_IN_MEMORY < len(large)
    made = await upload(ada, small)
    assert made.status == 200, made.text
    path = made.json["url"].removeprefix("http://localhost:3000")
    assert (await stage.anybody().get(path)).status == 200
    monkeypatch.setattr(limits, "end_of_files", lambda: 0)
    refused = await stage.anybody().get(path)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
    assert (await upload(ada, large)).status == 503
    assert (await upload(ada, small)).status == 200
