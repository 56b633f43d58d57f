"""Parts of pages that are sent again when they change: as server-sent events, to those alone who may see the page."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import trio

from troupe.actors.rules.roles import Permission
from troupe.http.access.operations import MOST_OPEN
from troupe.http.staff import live

from ... import plain_http
from ...clients import Stage
from ..serving import serving
from ..settling import Browser
from .members import member, world

pytestmark = pytest.mark.usefixtures("both_ways")

PATIENCE = 10


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again without a pause to speak of."""
    monkeypatch.setattr(live, "PAUSE", 0.01)


async def cookie_of(stage: Stage, role: str) -> str:
    await stage.account(role, role=role)
    answer = await Browser(stage).sign_in(role)
    return answer.headers["Set-Cookie"].partition(";")[0]


@asynccontextmanager
async def listening(port: int, cookie: str, path: str = "/admin/live") -> AsyncGenerator[httpx.Response]:
    client = plain_http.async_client(base_url=f"http://127.0.0.1:{port}", headers={"Cookie": cookie}, timeout=PATIENCE)
    async with client, client.stream("GET", path) as answer:
        yield answer


async def part(lines: AsyncIterator[str]) -> str:
    """The next event's HTML."""
    found: list[str] = []
    with trio.fail_after(PATIENCE):
        async for line in lines:
            if line.startswith("data: "):
                found.append(line.removeprefix("data: "))
            elif found:
                return "\n".join(found)
    raise AssertionError("the stream has ended")


async def ended(lines: AsyncIterator[str]) -> None:
    with trio.fail_after(PATIENCE):
        async for _ in lines:
            pass


async def test_a_change_is_sent(stage: Stage) -> None:
    cookie = await cookie_of(stage, "moderator")
    async with serving(stage) as server, listening(server.port, cookie) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        lines = answer.aiter_lines()
        assert "Nothing waits for you." in await part(lines)
        await world(stage)
        with trio.fail_after(PATIENCE):
            while "<strong>1</strong> open report<" not in await part(lines):
                pass  # the load of the machine has changed before


async def test_it_ends_when_the_role_does(stage: Stage) -> None:
    cookie = await cookie_of(stage, "moderator")
    async with serving(stage) as server, listening(server.port, cookie) as answer:
        lines = answer.aiter_lines()
        await part(lines)
        await stage.sql("UPDATE users SET role = 'user'")
        await ended(lines)


async def test_it_ends_when_the_session_does_and_when_the_server_stops(stage: Stage) -> None:
    cookie = await cookie_of(stage, "owner")
    async with serving(stage) as server:
        async with listening(server.port, cookie, "/admin/log/live") as answer:
            lines = answer.aiter_lines()
            await part(lines)
            assert len(stage.http_context.streams) == 1
            stage.http_context.streams.close_all()
            await ended(lines)
        stage.http_context.streams.open_all()
        async with listening(server.port, cookie) as answer:
            lines = answer.aiter_lines()
            await part(lines)
            await stage.sql("DELETE FROM web_sessions")
            await ended(lines)
    assert len(stage.http_context.streams) == 0


async def test_a_user_has_a_bounded_number_of_them(stage: Stage) -> None:
    browser = await member(stage, "owner")
    pages = stage.http_context.live_pages
    (account_id,) = (await stage.rows("SELECT account_id FROM users"))[0]
    with ExitStack() as opened:
        for _ in range(MOST_OPEN):
            opened.enter_context(pages.opened(account_id))
        assert (await browser.get("/admin/live")).status == 429
    assert (await browser.send_as("HEAD", "/admin/live")).status == 200


async def test_requests_at_the_same_time_open_no_more_than_the_bound(stage: Stage) -> None:
    """All requests pass the first check before a stream begins."""
    request = SimpleNamespace(method="GET", path="/admin/live", request_id="r1", address=str)
    me: Any = SimpleNamespace(context=stage.http_context, request=request, user=SimpleNamespace(account_id=7))
    answers = [live.live(me, Permission.VIEW_DASHBOARD, _part) for _ in range(MOST_OPEN + 1)]
    pages = stage.http_context.live_pages
    with ExitStack() as opened:
        for _ in answers[1:]:
            opened.enter_context(pages.opened(7))
        assert answers[0].stream is not None
        assert [chunk async for chunk in answers[0].stream()] == []
    assert len(stage.http_context.streams) == 0


async def _part() -> bytes:
    raise AssertionError("the stream began")


async def test_a_page_runs_scripts_of_this_server_alone(stage: Stage) -> None:
    browser = await member(stage, "owner")
    page = await browser.get("/admin")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    assert page.text.count("<script") == 1
    assert "http://" not in page.text.replace("http://localhost:3000", "")
    assert "style=" not in page.text
    script = await stage.anybody().get("/staff.js")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "script-src" not in (await browser.get("/settings")).headers["Content-Security-Policy"]
