"""The servers of `bus_url`, those that servers name, and the logins."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from troupe.actors.cluster.nats.nkeys import is_seed, sign
from troupe.actors.cluster.nats.protocol import Connect, Info
from troupe.actors.cluster.nats.servers import MOST_NAMED, BadBusUrl, BrokerServer, BrokerServers, parse

# The pair of keys in the documentation of nkeys.
SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
PUBLIC = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
OPTIONS = Connect(
    verbose=False, pedantic=False, echo=False, protocol=1, headers=True, lang="python", version="1", name=""
)


def login_of(server: BrokerServer) -> Connect:
    return server.login.complete(OPTIONS, Info(nonce="nonce"))


def named(by: str, *places: str, over_tls: bool = False, last: BrokerServer | None = None) -> list[BrokerServer]:
    """Return the servers to try, when the server of this URL has named these places."""
    servers = parse(by)
    pool = BrokerServers(servers, iter(range(1000)).__next__)
    pool.learn(Info(connect_urls=places), servers[0], over_tls=over_tls)
    return list(pool.in_turn(last))


def test_a_list_has_what_each_server_lacks_from_the_one_before() -> None:
    first, second, third, fourth = parse("tls://ada:secret@a, b:4333,nats://[::1],token@d")
    assert [str(server) for server in (first, second, third, fourth)] == ["a:4222", "b:4333", "[::1]:4222", "d:4222"]
    assert [server.demands_tls for server in (first, second, third, fourth)] == [True, True, False, False]
    assert first.login == second.login == third.login
    assert (login_of(third).user, login_of(third).password, login_of(third).auth_token) == ("ada", "secret", "")
    assert (login_of(fourth).user, login_of(fourth).auth_token) == ("", "token")


def test_a_server_without_a_login_gets_none() -> None:
    assert login_of(parse("a")[0]) == OPTIONS


def test_special_characters_of_passwords_are_written_as_in_urls() -> None:
    login = login_of(parse("nats://a%40b:%5ERMk%2A%23%21%2C%2F%3A%25%C3%A9@a")[0])
    assert (login.user, login.password) == ("a@b", "^RMk*#!,/:%\N{LATIN SMALL LETTER E WITH ACUTE}")


@pytest.mark.parametrize(
    "urls",
    ["", "nats://", "nats://u:se#cret@a", "nats://u:se/cret@a", "nats://u:se?cret@a", "nats://u:secret@a:x",
     "nats://u:secret@a:70000", "nats://u:secret@a,", "nats://u:secret@[::1", "nats://u:secret@a/path",
     "http://u:secret@a", "nats://u:secret@a b", "nats://u:se,cret@a", "nats://u:secret@\xe9\uff0f"],
)  # fmt: skip
def test_a_wrong_url_is_refused_without_its_secret(urls: str) -> None:
    with pytest.raises(BadBusUrl) as caught:
        parse(urls)
    assert "cret" not in str(caught.value)


def test_no_secret_is_in_what_a_server_looks_like() -> None:
    assert "secret" not in repr(parse("nats://ada:secret@a"))
    assert "secret" not in repr(parse("secret@a"))


def test_servers_that_a_server_names_have_its_login_and_its_encryption() -> None:
    own, named_one, by_name = named("ada:secret@a", "10.0.0.2:4222", "b.example:4222", over_tls=True)
    assert (str(named_one), named_one.login, named_one.demands_tls) == ("10.0.0.2:4222", own.login, True)
    assert (named_one.certified, by_name.certified) == ("a", "b.example")  # an address stands in no certificate


def test_what_a_server_names_is_read_with_care() -> None:
    junk = ["", "b", "b:x", "u:p@b:1", "[::1", "b:99999", "b c:1", "\uff0f:1"]
    assert [str(server) for server in named("a", *junk, "a:4222", "[::1]:4222")] == ["a:4222", "[::1]:4222"]
    assert len(named("a", *(f"b{number}:1" for number in range(1000)))) == 1 + MOST_NAMED


def test_later_names_replace_former_ones_and_no_names_replace_nothing() -> None:
    servers = parse("a")
    pool = BrokerServers(servers, lambda: 0.0)
    for places, expected in (("b:1", "c:1"), ["a:4222", "b:1", "c:1"]), ((), ["a:4222", "b:1", "c:1"]), (
        ("d:1",), ["a:4222", "d:1"],
    ):  # fmt: skip
        pool.learn(Info(connect_urls=places), servers[0], over_tls=False)
        assert [str(server) for server in pool.in_turn(None)] == expected


def test_the_last_server_is_tried_last_and_the_others_in_any_order() -> None:
    servers = parse("a,b,c")
    numbers = iter([0.9, 0.5, 0.1])
    pool = BrokerServers(servers, lambda: next(numbers))
    assert [server.host for server in pool.in_turn(servers[2])] == ["b", "a", "c"]


def test_a_seed_is_told_from_a_token() -> None:
    assert is_seed(SEED)
    assert not is_seed(SEED[:-1] + "A")
    assert not is_seed(SEED.lower())
    assert not is_seed(PUBLIC)
    assert not is_seed("SA" + SEED[2:])


def test_a_login_by_nkey_is_a_signature_of_the_nonce() -> None:
    key, signature = sign(SEED, "nonce")
    assert key == PUBLIC
    public = Ed25519PublicKey.from_public_bytes(base64.b32decode(key)[1:33])
    public.verify(base64.urlsafe_b64decode(signature + "=="), b"nonce")
    login = login_of(parse(f"nats://{SEED}@a")[0])
    assert (login.nkey, login.sig, login.auth_token) == (key, signature, "")
