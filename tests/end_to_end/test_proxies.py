"""The proxies that operators put in front: TLS, HTTP/2, streams, uploads, and who the client is."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import trio
from trio_websocket import wrap_client_stream

from troupe.actors.rules import limits
from troupe.storage.engine.shards import shard_of
from troupe.storage.secrets import access_token

from ..data_folders import copy_data
from ..http.uploading import picture
from .conftest import made
from .proxies import DOMAIN, Proxy, caddy, nginx
from .server import Person, Server, free_port

PATIENCE = 30
Run = Callable[..., AbstractContextManager[Proxy]]


@pytest.fixture(scope="module")
def behind(prepared: Path) -> Iterator[Server]:
    """A server with a domain, which both proxies stand before."""
    with made() as server:
        copy_data(prepared, server.data)
        server.settings |= {"TROUPE_DOMAIN": DOMAIN, "TROUPE_RATE_LIMITS": "true"}
        server.start()
        yield server
        assert server.stop() == 0, server.log


@pytest.fixture(scope="module", params=[nginx, caddy], ids=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, behind: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with request.param(tmp_path_factory.mktemp("proxy"), behind.port) as running:
        yield running


@pytest.fixture
def ada(behind: Server) -> Person:
    return behind.people("ada")[0]


class ToTheProxy(httpx.AsyncBaseTransport):
    """Sends requests for the domain to the proxy, and checks its certificate for the domain."""

    def __init__(self, proxy: Proxy, *, http2: bool, local_address: str | None) -> None:
        context = ssl.create_default_context(cafile=str(proxy.trusted))
        self._inner = httpx.AsyncHTTPTransport(verify=context, http2=http2, local_address=local_address)
        self._port = proxy.port

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        request.extensions["sni_hostname"] = DOMAIN
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def client(proxy: Proxy, person: Person, *, http2: bool = True, address: str | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"https://{DOMAIN}", timeout=PATIENCE, headers=person.headers,
        transport=ToTheProxy(proxy, http2=http2, local_address=address),
    )  # fmt: skip


async def test_requests_by_http_2_with_tls(proxy: Proxy, ada: Person) -> None:
    async with client(proxy, ada) as app:
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await app.get("/api/v1/accounts/verify_credentials"))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert {(one.http_version, one.status_code) for one in answers} == {("HTTP/2", 200)}
        assert answers[0].json()["url"] == f"https://{DOMAIN}/@{ada.name}"
        assert answers[0].headers["Strict-Transport-Security"] == "max-age=31536000"
        document = await app.get("/.well-known/webfinger", params={"resource": f"acct:{ada.name}@{DOMAIN}"})
        assert document.json()["subject"] == f"acct:{ada.name}@{DOMAIN}"


class Echo(BaseHTTPRequestHandler):
    """Answers with the request line and the headers that it got."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        told = json.dumps([self.path, {name.lower(): value for name, value in self.headers.items()}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("run", [nginx, caddy], ids=["nginx", "caddy"])
async def test_what_signatures_cover_comes_unchanged(run: Run, tmp_path: Path, ada: Person) -> None:
    signed = {
        "Date": "Mon, 23 Nov 2026 10:00:00 GMT", "Digest": "SHA-256=abc=", "Content-Type": "application/activity+json",
        "Signature": 'keyId="https://far.example/a#key",headers="(request-target) host date digest",signature="abc="',
        "Signature-Input": 'sig1=("@method" "@target-uri");created=1', "Content-Digest": "sha-256=:abc=:",
    }  # fmt: skip
    path = "/users/a%40b/inbox?page=%2F&x="
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as echo:
        Thread(target=echo.serve_forever, daemon=True).start()
        with run(tmp_path, echo.server_port) as proxy:
            async with client(proxy, ada) as app:
                seen, headers = (await app.post(path, headers=signed, content=b"{}")).json()
        echo.shutdown()
    assert seen == path
    assert {name: headers[name.lower()] for name in signed} == signed
    assert (headers["host"], headers["authorization"]) == (DOMAIN, ada.headers["Authorization"])


class Named(BaseHTTPRequestHandler):
    """Answers with the port of its server."""

    def do_GET(self) -> None:
        body = str(self.connection.getsockname()[1]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def token_in(place: str, token: str) -> dict[str, Any]:
    """Return the arguments of a request that has a token in a place."""
    match place:
        case "header":
            return {"headers": {"Authorization": f"Bearer {token}"}}
        case "query":
            return {"params": {"stream": "user", "access_token": token}}
        case _:
            upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": token}
            return {"headers": upgrade}


@contextmanager
def named() -> Generator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Named) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("run", [nginx, caddy], ids=["nginx", "caddy"])
async def test_a_request_goes_to_the_node_of_its_account(run: Run, tmp_path: Path) -> None:
    with ExitStack() as stack:
        any_node, first, second = [stack.enter_context(named()).server_port for _ in range(3)]
        proxy = stack.enter_context(run(tmp_path, any_node, [first, second]))

        async def asked(**how: Any) -> int:
            transport = ToTheProxy(proxy, http2=False, local_address=None)
            async with httpx.AsyncClient(base_url=f"https://{DOMAIN}", timeout=PATIENCE, transport=transport) as app:
                return int((await app.get("/api/v1/streaming", **how)).text)

        account = {shard: next(id for id in range(5_000) if shard_of(id) == shard) for shard in (0, 0x7F, 0x80, 0xFF)}
        owners = {0: first, 0x7F: first, 0x80: second, 0xFF: second}
        for place in ("header", "query", "protocol"):
            for shard, owner in owners.items():
                token = access_token("a-secret_without-digits-", account[shard])
                assert await asked(**token_in(place, token)) == owner
            of_an_app, earlier = access_token("a-secret_a7", None), "a-secret-of-an-earlier-version-G_"
            assert await asked(**token_in(place, of_an_app)) == any_node
            assert await asked(**token_in(place, earlier)) == any_node
        assert await asked() == any_node


@pytest.mark.parametrize("run", [nginx, caddy], ids=["nginx", "caddy"])
async def test_the_other_node_takes_the_requests_of_a_node_that_is_away(run: Run, tmp_path: Path) -> None:
    with ExitStack() as stack:
        any_node, first = [stack.enter_context(named()).server_port for _ in range(2)]
        proxy = stack.enter_context(run(tmp_path, any_node, [first, free_port()]))
        transport = ToTheProxy(proxy, http2=False, local_address=None)
        async with httpx.AsyncClient(base_url=f"https://{DOMAIN}", timeout=PATIENCE, transport=transport) as app:
            for number in range(3):
                answer = await app.post("/api/v1/statuses", **token_in("header", f"secret-{number}-ff"))
                assert (answer.status_code, answer.text) == (200, str(first))


async def test_a_stream_of_events(proxy: Proxy, ada: Person) -> None:
    with trio.fail_after(PATIENCE):
        async with client(proxy, ada) as app, app.stream("GET", "/api/v1/streaming/user") as stream:
            assert (stream.status_code, stream.headers["Content-Type"]) == (200, "text/event-stream")
            lines = stream.aiter_lines()
            await anext(lines)  # the stream is open
            posted = (await app.post("/api/v1/statuses", data={"status": "through the proxy"})).json()
            async for line in lines:
                if line.startswith("data:") and posted["id"] in line:
                    break


async def test_a_websocket(proxy: Proxy, ada: Person) -> None:
    context = ssl.create_default_context(cafile=str(proxy.trusted))
    path = f"/api/v1/streaming?stream=user&access_token={ada.token}"
    with trio.fail_after(PATIENCE):
        tcp = await trio.open_tcp_stream("127.0.0.1", proxy.port)
        tls = trio.SSLStream(tcp, context, server_hostname=DOMAIN)
        async with client(proxy, ada) as app, trio.open_nursery() as nursery:
            socket = await wrap_client_stream(nursery, tls, DOMAIN, path)
            posted = (await app.post("/api/v1/statuses", data={"status": "through the proxy"})).json()
            while posted["id"] not in await socket.get_message():
                pass
            await socket.aclose()


async def test_the_largest_upload(proxy: Proxy, ada: Person) -> None:
    """A film of the largest size, and a thumbnail. It is none, but that is found out later."""
    film = b"\0\0\0\x18ftypisom".ljust(limits.VIDEO_BYTES, b"\0")
    files = {"file": ("film.mp4", film, "video/mp4"), "thumbnail": ("small.png", picture(), "image/png")}
    async with client(proxy, ada, http2=False) as app:  # the library takes minutes for it by HTTP/2
        accepted = await app.post("/api/v2/media", files=files, timeout=4 * PATIENCE)
        assert accepted.status_code == 202, accepted.text
        assert (await app.post("/api/v2/media", files={"file": film + b"\0"}, timeout=4 * PATIENCE)).status_code == 422


async def test_a_slow_upload(proxy: Proxy, ada: Person) -> None:
    """It comes in small pieces, and others are answered meanwhile."""
    image = picture(300, 300)
    request = httpx.Request("POST", "https://any/", files={"file": ("a.png", image, "image/png")})
    body = request.read()
    pieces = [body[start : start + 200] for start in range(0, len(body), 200)]
    asked = trio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2:
                await asked.wait()
            yield piece

    headers = {"Content-Type": request.headers["Content-Type"]}
    async with client(proxy, ada, http2=False) as app, trio.open_nursery() as nursery:

        async def ask() -> None:
            assert (await app.get("/api/v1/accounts/verify_credentials")).status_code == 200
            asked.set()

        nursery.start_soon(ask)
        done = await app.post("/api/v2/media", content=slowly(), headers=headers)
        assert done.status_code == 200, done.text


async def test_the_server_knows_the_client_s_address(proxy: Proxy, behind: Server, ada: Person) -> None:
    """It counts requests by the address of the connection to the proxy, not by one that the client makes up."""
    made_up = {"X-Forwarded-For": "203.0.113.9", "X-Real-IP": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    first, second = (f"127.0.{proxy.port % 250}.{number}" for number in (77, 78))
    left: list[int] = []
    for address, forged in ((first, {}), (first, made_up), (first, {"X-Forwarded-For": second}), (second, {})):
        async with client(proxy, ada, address=address) as app:
            answer = await app.get("/api/v1/instance", headers={**forged, "Authorization": ""})
            left.append(int(answer.headers["X-RateLimit-Remaining"]))
    assert left == [left[0], left[0] - 1, left[0] - 2, left[0]]
