"""Requests to follow, as a client plays them: each answer and each stream is right at once, on both sides."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from troupe.storage.engine.pool import ConnectionPool

from ..clients import Person, Stage
from ..waiting import until
from .streaming.conftest import Edge, Socket, edge

__all__ = ["edge"]

PROFILE = "/api/v1/accounts/update_credentials"
REQUESTS = "/api/v1/follow_requests"
CALLS = ("transact", "transact_alone", "transact_checked", "read")


@pytest.fixture(params=range(4))
def delays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other tasks run for a while before and after each call of the database."""
    chance = random.Random(request.param)

    async def delay() -> None:
        for _ in range(chance.choice((0, 0, 5, 40))):
            await trio.lowlevel.checkpoint()

    def delayed(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def made(*given: Any, **named: Any) -> Any:
            await delay()
            result = await call(*given, **named)
            await delay()
            return result

        return made

    for name in CALLS:
        monkeypatch.setattr(ConnectionPool, name, delayed(getattr(ConnectionPool, name)))


async def locked(stage: Stage, name: str) -> Person:
    person = await stage.person(name)
    await person.done("PATCH", PROFILE, {"locked": "true"})
    return person


async def relation(viewer: Person, other: Person) -> dict[str, bool]:
    (found,) = (await viewer.get(f"/api/v1/accounts/relationships?id[]={other.id}")).json
    return {name: found[name] for name in ("following", "requested", "followed_by", "requested_by") if found[name]}


async def names(viewer: Person, path: str) -> list[str]:
    return [account["username"] for account in (await viewer.get(path)).json]


async def asking(viewer: Person) -> list[str]:
    """The people of the notifications about requests."""
    found = (await viewer.get("/api/v1/notifications?types[]=follow_request")).json
    return [notification["account"]["username"] for notification in found]


async def count(viewer: Person, other: Person, name: str) -> int:
    return (await viewer.get(f"/api/v1/accounts/{other.id}")).json[name]


async def listen(socket: Socket, heard: list[tuple[str, str]]) -> None:
    while True:
        frame = await socket.hear()
        if frame["event"] in ("notification", "update"):
            heard.append((frame["event"], frame["payload"].get("type") or frame["payload"]["id"]))


@pytest.mark.usefixtures("delays")
async def test_a_request_shows_at_once_on_both_sides(stage: Stage, edge: Edge, ada: Person, bob: Person) -> None:
    """The requests that Pinafore's own test of a locked account sends, while others ask too."""
    lia = await locked(stage, "lia")
    quiet = await lia.publish("This account is locked", visibility="private")
    path = f"/api/v1/accounts/{lia.id}"
    told_lia: list[tuple[str, str]] = []
    told_ada: list[tuple[str, str]] = []
    async with (
        edge.socket("?stream=user", lia.token) as of_lia,
        edge.socket("?stream=user", ada.token) as of_ada,
        trio.open_nursery() as nursery,
    ):
        await of_lia.settle()
        await of_ada.settle()
        nursery.start_soon(listen, of_lia, told_lia)
        nursery.start_soon(listen, of_ada, told_ada)
        nursery.start_soon(bob.post, f"{path}/follow")

        for last in (False, True):
            assert (await ada.done("POST", f"{path}/follow"))["requested"] is True
            assert (await relation(ada, lia), await relation(lia, ada)) == ({"requested": True}, {"requested_by": True})
            assert "ada" in await names(lia, REQUESTS)
            assert "ada" in await asking(lia)
            if not last:
                assert (await ada.done("POST", f"{path}/unfollow"))["requested"] is False
                assert (await relation(ada, lia), await relation(lia, ada)) == ({}, {})
                assert "ada" not in await names(lia, REQUESTS)
                assert "ada" not in await asking(lia)

        assert (await lia.done("POST", f"{REQUESTS}/{ada.id}/authorize"))["followed_by"] is True
        assert (await relation(ada, lia), await relation(lia, ada)) == ({"following": True}, {"followed_by": True})
        assert [status["id"] for status in (await ada.get(f"{path}/statuses")).json] == [quiet["id"]]
        assert [status["id"] for status in (await ada.get("/api/v1/timelines/home")).json] == [quiet["id"]]
        assert await names(ada, f"{path}/followers") == ["ada"]
        assert (await count(ada, lia, "followers_count"), await count(lia, ada, "following_count")) == (1, 1)
        told = await lia.publish("for followers", visibility="private")

        assert (await ada.done("POST", f"{path}/unfollow"))["following"] is False
        assert (await relation(ada, lia), await relation(lia, ada)) == ({}, {})
        assert (await ada.get(f"{path}/statuses")).json == []
        assert (await count(ada, lia, "followers_count"), await count(lia, ada, "following_count")) == (0, 0)
        await until(lambda: told_lia.count(("notification", "follow_request")) == 3)
        await until(lambda: ("update", told["id"]) in told_ada)
        nursery.cancel_scope.cancel()
