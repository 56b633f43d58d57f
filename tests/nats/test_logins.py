"""Logins and encryption at real servers of NATS."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..certificates import Certificate, certificate
from ..waiting import until
from .broker import Node, nodes, running

SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
PUBLIC = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
PASSWORD = "authorization { user: ada, password: 'Rm^A*2#j6!,@:/%' }"
TOKEN = "authorization { token: 's3cret' }"
NKEY = f"authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}"


async def talk(url: str) -> Node:
    """Have two nodes talk over a server, and return the first one."""
    first, second = Node(url, "n1"), Node(url, "n2")
    async with nodes(first, second):
        first.send("n2", b"hello")
        await second.until_received(("n1", b"hello"))
    return first


async def refused(url: str) -> str:
    """Return the reason why a node can't use a server."""
    node = Node(url)
    async with nodes(node, connected=False):
        await until(lambda: bool(node.log.records))
        assert not node.transport.is_connected
    return node.log.errors("bus.lost")[0]


@pytest.mark.parametrize(
    ("configuration", "login"),
    [(PASSWORD, "ada:Rm%5EA%2A2%23j6%21%2C%40%3A%2F%25"), (TOKEN, "s3cret"), (NKEY, SEED)],
    ids=["password", "token", "nkey"],
)
async def test_a_login_is_taken_and_a_wrong_one_explained_once(tmp_path: Path, configuration: str, login: str) -> None:
    with running(tmp_path, configuration) as broker:
        node = await talk(f"nats://{login}@{broker.place}")
        assert login not in node.log.text
        wrong = Node(f"nats://ada:wr0ng@{broker.place}")
        async with nodes(wrong, connected=False):
            await until(lambda: bool(wrong.log.records))
            broker.kill()
            broker.configure("authorization { user: ada, password: 'wr0ng' }")
            broker.start()
            await wrong.until_connected()
        assert wrong.log.errors("bus.lost")[0] == (
            f"{broker.place}: it says 'Authorization Violation': correct the user and the password in bus_url, or in"
            " its configuration"
        )
        assert len(wrong.log.errors("bus.lost")) == len({*wrong.log.errors("bus.lost")}) <= 3
        assert "wr0ng" not in wrong.log.text


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    """A certificate for the name `localhost`, which this machine trusts. No address stands in it."""
    made = certificate(tmp_path, hosts=["localhost"])
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


def encrypted(made: Certificate, more: str = "") -> str:
    return f"tls {{\ncert_file: '{made.file}'\nkey_file: '{made.key}'\n{more}\n}}\n"


@pytest.mark.parametrize("scheme", ["tls", "nats"])
@pytest.mark.parametrize("more", ["", "handshake_first: auto"])
async def test_tls_is_used_if_either_side_demands_it(
    tmp_path: Path, trusted: Certificate, scheme: str, more: str
) -> None:
    with running(tmp_path, encrypted(trusted, more)) as broker:
        await talk(f"{scheme}://localhost:{broker.port}")


async def test_a_server_that_expects_tls_at_once_gets_it(tmp_path: Path, trusted: Certificate) -> None:
    with running(tmp_path, encrypted(trusted, "handshake_first: true")) as broker:
        await talk(f"tls://localhost:{broker.port}")


async def test_a_certificate_for_another_name_is_refused(tmp_path: Path, trusted: Certificate) -> None:
    with running(tmp_path, encrypted(trusted) + PASSWORD) as broker:
        assert "IP address mismatch" in await refused(f"tls://ada:s@{broker.place}")


async def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, encrypted(certificate(tmp_path, hosts=["localhost"]))) as broker:
        assert "its certificate is not trusted: self-signed certificate" in await refused(broker.url)


async def test_a_server_without_tls_gets_no_password_if_the_url_demands_tls(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        assert "bus_url demands TLS" in await refused(f"tls://{broker.place}")


async def test_a_name_that_does_not_exist_and_a_port_of_another_program_are_named() -> None:
    assert "Name or service not known" in await refused("nats://nothing.invalid")


async def test_a_server_that_takes_no_more_connections_says_so(tmp_path: Path) -> None:
    with running(tmp_path, "max_connections: 1") as broker:
        node = Node(broker.url)
        async with nodes(node):
            assert "it says 'maximum connections exceeded': raise max_connections" in await refused(broker.url)
