"""Every route is counted by a rule, and the list of them is complete."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trio_websocket import ConnectionRejected

from troupe.actors.kernel import SystemClock
from troupe.http.access import rates
from troupe.http.access.rates import RateRule
from troupe.http.router import all_endpoints

from ..accept import ADVICE, counting_rules, shape
from ..clients import Client, Person, Stage
from .serving import request, say, serving
from .streaming.conftest import Edge, edge

__all__ = ["edge"]

LIST = Path(__file__).parent / "contract" / "endpoints.txt"
RULES = {rule.name: rule for rule in vars(rates).values() if isinstance(rule, RateRule)}
HERE = "127.0.0.1"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"rate_limits": True}


def served(stage: Stage) -> set[tuple[str, str]]:
    """Method and path of every endpoint, and of what is served in front of them. Quart has no route of its own."""
    assert [rule.rule for rule in stage.app.url_map.iter_rules()] == ["/<everything:path>"]
    found = {(endpoint.method, shape(endpoint.path)) for endpoint in all_endpoints()}
    return found | {("GET", "/api/v1/streaming/<>"), ("WEBSOCKET", "/api/v1/streaming"), ("OPTIONS", "/api/<>")}


def listed() -> dict[tuple[str, str], list[str]]:
    """The names of the rules of each route, from the list."""
    lines = [line for line in LIST.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    rows = [re.split(r" {2,}", line) for line in lines]
    return {(method, path): names.split(", ") for method, path, _, names in rows}


async def test_the_list_names_every_route_with_its_rules(stage: Stage) -> None:
    assert served(stage) - listed().keys() == set(), f"routes that {LIST.name} does not name"
    assert listed() == dict(counting_rules()), ADVICE


def exhaust(stage: Stage, rule: RateRule, subject: str) -> None:
    """Leave nothing of a rule to an address or an account."""
    now = stage.http_context.clock.now()
    for _ in range(rule.limit):
        stage.http_context.rates.count(rule, subject, now)


def addresses() -> Iterator[str]:
    """Addresses that nothing was counted for yet."""
    return (f"198.51.{number // 250}.{number % 250 + 1}" for number in itertools.count())


async def test_each_rule_of_each_route_refuses_when_it_is_used_up(stage: Stage) -> None:
    client, unused = stage.anybody(), addresses()

    async def status(address: str) -> int:
        head = {"X-Forwarded-For": address, "Origin": "https://app.example"}
        return (await client.send("POST" if method == "ANY" else method, path.replace("<>", "103"), head)).status

    for (method, path), names in listed().items():
        if method == "WEBSOCKET":
            continue
        assert await status(next(unused)) != 429, (method, path)
        for name in names:
            if name.startswith("a file: "):
                continue  # only accounts send files
            address = next(unused)
            # The general rules of the API count strangers by their address.
            exhaust(stage, RULES["address" if name == "api" else name], address)
            assert await status(address) == 429, (method, path, name)


@pytest.mark.parametrize("path", ["//oauth/token", "/oauth/token/", "http://elsewhere.example/oauth/token"])
@pytest.mark.usefixtures("both_ways")
async def test_no_spelling_of_a_path_is_a_way_around(stage: Stage, path: str) -> None:
    exhaust(stage, rates.TOKENS, HERE)
    async with serving(stage) as server:
        answer = await say(server.port, request(b"POST " + path.encode()))
    assert answer.startswith(b"HTTP/1.1 429")


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_a_page_that_is_refused_says_so_to_people_too(stage: Stage, accept: str) -> None:
    exhaust(stage, rates.PAGES, HERE)
    refused = await stage.anybody().get("/nothing", headers={"Accept": accept})
    assert refused.status == 429
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert ("Too many attempts" in refused.text) == (accept == "text/html")


async def test_pages_and_calls_of_the_api_are_counted_apart(stage: Stage) -> None:
    exhaust(stage, rates.PAGES, HERE)
    exhaust(stage, rates.FILES, HERE)
    assert (await stage.anybody().get("/api/v1/instance")).headers["X-RateLimit-Remaining"] == "299"


async def test_the_counts_of_a_rule_have_a_bound() -> None:
    """A client with millions of addresses can't fill the memory."""
    counts, now = rates.Rates(), SystemClock().now()
    for number in range(rates.MOST_SUBJECTS + 10):
        counts.count(rates.PAGES, str(number), now)
    windows = counts._windows  # pyright: ignore[reportPrivateUsage]  # no other code counts the subjects
    _, counted = windows[rates.PAGES.name]
    assert len(counted) == 10


class TestStreams:
    async def test_handshakes_without_a_good_token_count_for_their_address(self, stage: Stage, edge: Edge) -> None:
        for query in ("?stream=user", "?access_token=wrong", "?stream=public&access_token=wrong", "?a[b]=1&a=2"):
            exhaust(stage, rates.STREAMS, HERE)
            with pytest.raises(ConnectionRejected) as refused:
                async with edge.socket(query):
                    pass
            assert (refused.value.status_code, refused.value.body) == (429, b'{"error":"Too many requests"}')

    async def test_every_refused_handshake_is_counted(self, stage: Stage, edge: Edge) -> None:
        """The last of them reaches the limit."""
        for _ in range(rates.STREAMS.limit - 4):
            stage.http_context.rates.count(rates.STREAMS, HERE, stage.http_context.clock.now())
        statuses: list[int] = []
        for query in ("?stream=user", "?access_token=wrong", "?stream=user&access_token=wrong", "?stream=list") * 2:
            with pytest.raises(ConnectionRejected) as refused:
                async with edge.socket(query):
                    pass
            statuses.append(refused.value.status_code)
        assert statuses == [401] * 4 + [429] * 4

    async def test_a_good_token_counts_for_its_account_wherever_it_comes_from(
        self, stage: Stage, edge: Edge, ada: Person
    ) -> None:
        exhaust(stage, rates.STREAMS, HERE)
        async with edge.socket("?stream=user", ada.token) as stream:
            await stream.settle()
        exhaust(stage, rates.STREAMS, ada.id)
        with pytest.raises(ConnectionRejected) as refused:
            async with edge.socket("?stream=user", ada.token):
                pass
        assert refused.value.status_code == 429
        await edge.quiet()

    async def test_subscriptions_are_counted_and_refused_in_the_socket(
        self, stage: Stage, edge: Edge, ada: Person
    ) -> None:
        async with edge.socket(token=ada.token) as stream:
            await stream.subscribe("user")
            exhaust(stage, rates.SUBSCRIPTIONS, ada.id)
            await stream.say(type="subscribe", stream="hashtag", tag="tea")
            assert await stream.hear() == {"error": "Too many requests", "status": 429}
            status = await ada.publish("#tea")
            frame = await stream.hear()
            assert (frame["stream"], frame["payload"]["id"]) == (["user"], status["id"])

    async def test_streams_that_resume_too_often_begin_with_a_gap(self, stage: Stage, edge: Edge, ada: Person) -> None:
        async with edge.socket("?stream=user&since=now", ada.token) as stream:
            assert (await stream.hear())["event"] == "resumed"
            since = stream.id
        await ada.publish()
        exhaust(stage, rates.RESUMPTIONS, ada.id)
        async with edge.socket(f"?stream=user&since={since}", ada.token) as stream:
            assert (await stream.hear())["event"] == "gap"
        async with edge.events("user", ada.token, since) as events:
            assert (await events.hear())[0] == "gap"
        async with edge.socket("?stream=user&since=now", ada.token) as stream:
            assert (await stream.hear())["event"] == "resumed"

    async def test_a_stream_in_the_address_is_a_subscription(self, stage: Stage, edge: Edge, ada: Person) -> None:
        exhaust(stage, rates.SUBSCRIPTIONS, ada.id)
        async with edge.socket("?stream=user", ada.token) as stream:
            assert await stream.hear() == {"error": "Too many requests", "status": 429}


async def test_a_busy_client_is_never_refused(stage: Stage, ada: Person) -> None:
    """Half a minute of a web client (it asks for leave before each call): a sign-in, ten pages of a timeline with the
    pictures on them, and what it looks at beside them."""
    browser, origin = (
        stage.anybody(),
        {"Origin": "https://app.example", "Access-Control-Request-Headers": "authorization"},
    )

    async def asked(client: Client, path: str) -> None:
        assert (await client.send("OPTIONS", path, origin)).status == 200
        assert (await client.get(path)).status == 200

    application = await stage.application()
    query = f"client_id={application.client_id}&redirect_uri=https://app.example/cb&response_type=code"
    await asked(browser, "/api/v2/instance")
    for path in (f"/oauth/authorize?{query}", "/style.css", "/about"):
        assert (await browser.get(path)).status == 200
    for page in range(10):
        await asked(ada, f"/api/v1/timelines/home?limit=20&max_id={10**17 - page}")
        for _ in range(20 * 5):
            assert (await browser.get("/media/picture.jpg")).status == 404
    for path in ("/api/v1/notifications", "/api/v1/lists", "/api/v1/markers?timeline[]=home") * 20:
        await asked(ada, path)


@pytest.mark.parametrize("path", ["/inbox", "/inbox/", "/users/ada/inbox", "/users/ada/inbox/"])
def test_deliveries_have_a_limit_of_their_own(path: str) -> None:
    assert rates.rule_of(path) is rates.DELIVERIES
