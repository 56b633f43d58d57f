"""`troupe doctor` beside a running server: directly, and through a proxy that is broken in each of its duties."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from troupe import __version__
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded
from troupe.supervision.commands.running_server import ask

from .. import plain_http
from ..certificates import certificate
from ..data_folders import copy_data, passable_folder
from .federated import CHUNK, FederatedServer, TlsFront
from .server import Server

Edit = Callable[[bytes], bytes]
FORWARDED = re.compile(rb"\r\nx-forwarded-for: ([^\r]*)", re.IGNORECASE)


class Proxy(TlsFront):
    """A proxy as the handbook has it, with one client a connection. `broken` undoes one of its duties."""

    @staticmethod
    def broken(head: bytes) -> bytes:
        """Return the head of a request as it goes on."""
        return head

    async def _pass_on(self, outside: trio.SSLStream[trio.SocketStream]) -> None:
        head = b""
        try:
            async with outside, await trio.open_tcp_stream("127.0.0.1", self._behind) as inside:
                while b"\r\n\r\n" not in head:
                    head += await outside.receive_some(CHUNK)
                head = FORWARDED.sub(rb"\r\nX-Forwarded-For: \1, 192.0.2.9", head)
                await inside.send_all(type(self).broken(head))
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_pump, outside, inside)
                    await _pump(inside, outside)
                    nursery.cancel_scope.cancel()
        except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass


async def _pump(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
    while chunk := await source.receive_some(CHUNK):
        await sink.send_all(chunk)


@pytest.fixture(scope="module")
def behind_proxy(prepared: Path) -> Iterator[FederatedServer]:
    """A running server whose name is a.test, and the proxy in front of it."""
    with passable_folder() as folder:
        made = certificate(folder, hosts=["a.test"])
        copy_data(prepared, folder / "data")
        server = FederatedServer(folder / "data", "a.test", made.server)
        server.front = Proxy(made.server, server.port)
        server.settings |= {"TROUPE_TEST_HOSTS": server.place, "SSL_CERT_FILE": str(made.file)}
        with server.front:
            server.start()
            yield server
            assert server.stop() == 0


def wrong(server: Server, *subjects: str, **settings: str) -> list[str]:
    """What the command finds wrong with the way to the server."""
    done = server.troupe("doctor", "--json", **settings)
    found = [one for one in json.loads(done.stdout) if one["subject"] in subjects]
    assert found, done.stdout
    return [one["text"] for one in found if one["state"] == "wrong"]


def test_a_server_without_a_proxy_is_good_while_it_runs_and_is_not_asked_when_it_does_not(own_server: Server) -> None:
    own_server.start()
    found = json.loads(own_server.troupe("doctor", "--json").stdout)  # it has no option for the port
    texts = {one["subject"]: one["text"] for one in found if one["state"] == "good"}
    assert texts["proxy"] == f"requests to {own_server.url} arrive with their host and their client's address"
    assert texts["streaming"].startswith("WebSockets get through")
    assert re.fullmatch(r"\d+ of \d+ in use", texts["descriptors"])
    assert own_server.stop() == 0
    found = json.loads(own_server.troupe("doctor", "--json", TROUPE_PORT=str(own_server.port)).stdout)
    assert "no server answers here" in next(one["text"] for one in found if one["subject"] == "proxy")
    assert not [one for one in found if one["state"] == "wrong" and one["subject"] != "database"]


def test_the_running_server_says_its_version_and_its_shards(own_server: Server) -> None:
    own_server.start()
    report = ask(own_server.data / "control-main.sock", "doctor")
    assert report is not None
    assert report["version"] == __version__
    before = wrong(own_server, "database")  # PostgreSQL of tests does not flush
    with embedded(own_server.data) as postgres:
        transact_once(postgres.dsn, raise_epoch)
    (found,) = set(wrong(own_server, "database")) - set(before)
    assert "for 1 of 256 shards of accounts" in found
    assert own_server.stop() == 0


async def raise_epoch(db: Connection) -> None:
    await db.execute("UPDATE shards SET epoch = epoch + 1 WHERE shard = 7")


def test_a_proxy_that_does_its_duties_is_good(behind_proxy: FederatedServer) -> None:
    assert wrong(behind_proxy, "domain", "proxy", "streaming") == []


def edited(pattern: bytes | re.Pattern[bytes], by: bytes = b"") -> Edit:
    return lambda head: re.sub(pattern, by, head)


@pytest.mark.parametrize(
    ("broken", "subject", "problem"),
    [
        (edited(rb"Host: [^\r]*", b"Host: a:3"), "proxy", "arrive with Host: a:3"),
        (edited(FORWARDED), "proxy", "without X-Forwarded-For"),
        (edited(rb", 192\.0\.2\.9"), "proxy", "clients can choose the address"),
        (edited(rb"\r\nX-Troupe-Probe: [^\r]*"), "proxy", "another server answers"),
        (edited(b"/health", b"/nothing"), "proxy", "another server answers"),
        (edited(b"Upgrade: websocket\r\n"), "streaming", "404 in place of 101"),
        (edited(b"Connection: Upgrade", b"Connection: close"), "streaming", "in place of 101"),
    ],
    ids=["host", "no address", "forged address", "another server", "no path", "no upgrade", "no connection upgrade"],
)  # fmt: skip
def test_each_duty_of_the_proxy_is_found_undone(
    behind_proxy: FederatedServer, monkeypatch: pytest.MonkeyPatch, broken: Edit, subject: str, problem: str
) -> None:
    monkeypatch.setattr(Proxy, "broken", staticmethod(broken))
    (text,) = wrong(behind_proxy, subject)
    assert problem in text


def test_a_certificate_that_is_not_trusted_and_a_proxy_that_is_away_are_found(behind_proxy: FederatedServer) -> None:
    (text,) = set(wrong(behind_proxy, "proxy", SSL_CERT_FILE="/dev/null"))
    assert text.startswith("the certificate of https://a.test is not good: ")
    behind_proxy.front.close()
    try:
        assert set(wrong(behind_proxy, "proxy", "streaming")) == {"https://a.test can't be reached: Connection refused"}
    finally:
        behind_proxy.front.open()


def test_a_proxy_that_is_not_trusted_is_found(behind_proxy: FederatedServer) -> None:
    texts = wrong(behind_proxy, "proxy", TROUPE_TRUSTED_PROXIES="10.0.0.1")
    assert texts == ["all clients count as one: requests come from 127.0.0.1, which is not in trusted_proxies"]


def test_only_the_token_of_the_control_socket_shows_how_a_request_arrived(behind_proxy: FederatedServer) -> None:
    with plain_http.client(base_url=f"http://127.0.0.1:{behind_proxy.port}") as client:
        for token in ("", "x", "x" * 43):
            assert client.get("/health/live", headers={"X-Troupe-Probe": token}).json() == {"status": "UP"}
