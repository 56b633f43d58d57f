"""Keys of other servers' actors: fetched when they are needed, proven in both directions, and not fetched too often."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
import trio
import trio.lowlevel
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.requests import ReceivedRequest, SignatureRefused, digest_of
from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.actors.activitypub.uris import same_uri
from troupe.actors.federation.errors import (
    DocumentGone,
    DocumentMissing,
    DocumentRefused,
    DocumentUnavailable,
    UnreadableDocument,
    UntrustedDocument,
)
from troupe.actors.federation.key_directory import REFETCHES, AuthenticatedActor, KeyDirectory, KeyUnavailable
from troupe.actors.memory.daily_quotas import DailyQuotas
from troupe.storage.engine.pool import open_pool

from ..multikeys import multikey
from ..signing import another_key, private_key

UNA = "https://peer.test/users/una"
KEY_ID = f"{UNA}#main-key"
FIRST, SECOND = private_key(), another_key()
ED25519 = Ed25519PrivateKey.generate()

Document = dict[str, Any]


class ClockAtHand:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 23, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Peer:
    """Other servers' documents by URI; an exception in place of one is raised."""

    def __init__(self) -> None:
        self.documents: dict[str, Document | Exception] = {UNA: actor(UNA, KEY_ID, FIRST)}
        self.asked: list[str] = []

    async def fetch(self, uri: str) -> Document:
        self.asked.append(uri)
        await trio.lowlevel.checkpoint()
        found = next((one for name, one in self.documents.items() if same_uri(name, uri)), DocumentMissing("404"))
        if isinstance(found, Exception):
            raise found
        return found


class World:
    def __init__(self, directory: KeyDirectory, peer: Peer, clock: ClockAtHand) -> None:
        self.directory = directory
        self.peer = peer
        self.clock = clock

    async def ask(
        self, private: RSAPrivateKey = FIRST, key_id: str = KEY_ID, said: str | None = None
    ) -> AuthenticatedActor:
        """Authenticate a request. `said` is the actor that its activity names."""
        return await self.directory.authenticate(self.request(private, key_id, said))

    def una(self, key_id: str) -> AuthenticatedActor:
        return AuthenticatedActor(UNA, key_id, self.clock.now())

    def request(self, private: RSAPrivateKey = FIRST, key_id: str = KEY_ID, said: str | None = None) -> ReceivedRequest:
        body = b"{}" if said is None else json.dumps({"actor": said}).encode()
        headers = sign(SigningKey(key_id, private), "POST", "https://troupe.test/inbox", body, self.clock.now())
        return self._received(headers, body)

    def signed_by_ed25519(self, key_id: str) -> ReceivedRequest:
        """Sign by draft-cavage, as servers that have such keys do."""
        date = format_datetime(self.clock.now(), usegmt=True)
        digest = f"SHA-256={digest_of(b'{}')}"
        base = f"(request-target): post /inbox\nhost: troupe.test\ndate: {date}\ndigest: {digest}"
        signature = base64.b64encode(ED25519.sign(base.encode())).decode()
        covered = "(request-target) host date digest"
        value = f'keyId="{key_id}",algorithm="hs2019",headers="{covered}",signature="{signature}"'
        return self._received({"Date": date, "Digest": digest, "Host": "troupe.test", "Signature": value}, b"{}")

    def _received(self, headers: dict[str, str], body: bytes) -> ReceivedRequest:
        lower = {name.lower(): text for name, text in headers.items()}
        return ReceivedRequest("POST", "https://troupe.test", "/inbox", lower, body)


@pytest.fixture
async def world(dsn: str) -> AsyncIterator[World]:
    peer, clock = Peer(), ClockAtHand()
    async with open_pool(dsn, size=2) as pool:
        yield World(KeyDirectory(pool, clock, peer.fetch, DailyQuotas()), peer, clock)


def actor(id: str, key_id: str, private: RSAPrivateKey, **more: object) -> Document:
    return {"id": id, "type": "Person", "publicKey": key(key_id, id, private)} | more


def key(id: str, owner: str, private: RSAPrivateKey) -> Document:
    return {"id": id, "owner": owner, "publicKeyPem": public_pem(private)}


async def test_an_actor_is_known_by_its_key(world: World) -> None:
    assert await world.ask() == world.una(KEY_ID)
    assert await world.ask() == world.una(KEY_ID)
    assert world.peer.asked == [UNA]  # once: the key is stored


async def test_requests_at_the_same_time_fetch_a_key_once(world: World) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(world.ask)
    assert world.peer.asked == [UNA]


async def test_a_key_among_several_is_found(world: World) -> None:
    world.peer.documents[UNA] = actor(UNA, KEY_ID, SECOND) | {
        "publicKey": [key(f"{UNA}#old", UNA, SECOND), key(KEY_ID, UNA, FIRST)]
    }
    assert (await world.ask()).uri == UNA


async def test_a_key_may_be_a_document_of_its_own(world: World) -> None:
    """GoToSocial's keys are below the actor: `/users/una/main-key`."""
    key_id = f"{UNA}/main-key"
    world.peer.documents = {key_id: key(key_id, UNA, FIRST), UNA: actor(UNA, key_id, FIRST)}
    assert await world.ask(key_id=key_id) == world.una(key_id)
    assert world.peer.asked == [key_id, UNA]


async def test_a_multikey_signs_as_well(world: World) -> None:
    """FEP-521a: an actor may have keys in `assertionMethod`, of RSA or Ed25519."""
    rsa, ed25519 = f"{UNA}#rsa", f"{UNA}#ed25519-key"
    keys = [multikey(rsa, UNA, SECOND), multikey(ed25519, UNA, ED25519)]
    world.peer.documents[UNA] = actor(UNA, KEY_ID, FIRST, assertionMethod=keys)
    assert await world.ask(SECOND, rsa) == world.una(rsa)
    assert await world.directory.authenticate(world.signed_by_ed25519(ed25519)) == world.una(ed25519)
    with pytest.raises(SignatureRefused):
        await world.ask(FIRST, ed25519)


async def test_a_multikey_may_be_a_document_of_its_own(world: World) -> None:
    key_id = f"{UNA}/keys/1"
    own = multikey(key_id, UNA, SECOND)
    world.peer.documents = {key_id: own, UNA: actor(UNA, KEY_ID, FIRST, assertionMethod=own)}
    assert await world.ask(SECOND, key_id) == world.una(key_id)


def rsa_key(**changes: object) -> Document:
    """The key of the actor; a change to None leaves out."""
    return {name: value for name, value in (key(KEY_ID, UNA, FIRST) | changes).items() if value is not None}


@pytest.mark.parametrize(
    "public_key",
    [
        rsa_key(type="Key"),
        rsa_key(type=["CryptographicKey", "Key"]),
        [rsa_key()],
        rsa_key(owner=None),
        rsa_key(owner=None, controller=UNA),
        rsa_key(owner={"id": UNA, "type": "Person"}),
        rsa_key(owner="HTTPS://Peer.Test:443/users/un%61"),
        rsa_key(id="#main-key"),
        rsa_key(id=None),
        rsa_key(id=UNA),
        rsa_key(id="https://PEER.test/users/una#main%2Dkey"),
        [{"id": f"{UNA}#broken", "owner": UNA, "publicKeyPem": "x"}, f"{UNA}#elsewhere", rsa_key()],
    ],
)
async def test_the_key_in_an_actors_document_has_many_shapes(world: World, public_key: object) -> None:
    world.peer.documents[UNA] = {"id": UNA, "type": "Person", "publicKey": public_key}
    assert await world.ask() == world.una(KEY_ID)
    assert world.peer.asked == [UNA]


@pytest.mark.parametrize(
    "change",
    [
        {"owner": None},
        {"owner": None, "controller": UNA},
        {"owner": [UNA], "type": "CryptographicKey"},
        {"owner": "https://peer.test:443/users/%75na"},
    ],
)
@pytest.mark.parametrize("named", ["whole", "by its id", "in a list"])
async def test_a_key_with_a_document_of_its_own_has_many_shapes(world: World, change: Document, named: str) -> None:
    key_id = f"{UNA}/main-key"
    own = rsa_key(id=key_id, **change)
    listed = {"whole": own, "by its id": key_id, "in a list": [f"{UNA}/old-key", key_id]}[named]
    world.peer.documents = {key_id: own, UNA: {"id": UNA, "type": "Person", "publicKey": listed}}
    assert await world.ask(key_id=key_id, said=UNA) == world.una(key_id)


async def test_a_key_may_be_named_by_its_actor_alone(world: World) -> None:
    """Some sign with the id of the actor, whatever the id of its key is."""
    world.peer.documents[UNA] = actor(UNA, f"{UNA}/res/52cb6996", FIRST)
    assert await world.ask(key_id=UNA) == world.una(UNA)
    with pytest.raises(SignatureRefused):
        await world.ask(key_id=f"{UNA}#main-key")


async def test_a_key_under_a_query_of_its_actor_is_found(world: World) -> None:
    key_id = f"{UNA}?operation=getkey"
    world.peer.documents = {key_id: actor(UNA, key_id, FIRST)}  # as fetched: the document names itself
    assert await world.ask(key_id=key_id) == world.una(key_id)


@pytest.mark.parametrize("listed", [None, [], "https://peer.test/keys/2", [rsa_key(id="https://peer.test/keys/1")]])
async def test_a_key_without_owner_is_of_no_actor_that_does_not_name_it(world: World, listed: object) -> None:
    key_id = "https://peer.test/keys/1"
    eve = "https://peer.test/users/eve"
    world.peer.documents = {key_id: rsa_key(id=key_id, owner=None), UNA: {"id": UNA, "publicKey": listed}}
    world.peer.documents[eve] = actor(eve, f"{eve}#main-key", SECOND)
    with pytest.raises(SignatureRefused):
        await world.ask(key_id=key_id, said=eve)


async def test_the_newer_key_of_an_actor_counts_and_not_that_of_its_own_document(world: World) -> None:
    key_id = f"{UNA}/main-key"
    world.peer.documents = {key_id: rsa_key(id=key_id), UNA: actor(UNA, key_id, SECOND)}
    with pytest.raises(SignatureRefused):
        await world.ask(key_id=key_id)


async def test_a_replaced_key_is_fetched_again(world: World) -> None:
    await world.ask()
    world.peer.documents[UNA] = actor(UNA, KEY_ID, SECOND)
    world.clock.time += timedelta(minutes=2)
    assert (await world.ask(SECOND)).uri == UNA
    with pytest.raises(SignatureRefused):
        await world.ask(FIRST)


async def test_wrong_signatures_fetch_a_key_once_a_minute(world: World) -> None:
    await world.ask()
    for _ in range(5):
        with pytest.raises(SignatureRefused):
            await world.ask(SECOND)
    assert world.peer.asked == [UNA]
    world.clock.time += timedelta(minutes=2)
    for _ in range(5):
        with pytest.raises(SignatureRefused):
            await world.ask(SECOND)
    assert world.peer.asked == [UNA, UNA]


EVIL = "https://evil.test/users/eve"


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param({}, id="the key is not there"),
        pytest.param({EVIL: DocumentGone("410")}, id="the key is gone"),
        pytest.param({EVIL: UntrustedDocument("names another")}, id="the document does not name itself"),
        pytest.param({EVIL: {"id": EVIL, "type": "Person"}}, id="the actor has no key"),
        pytest.param({EVIL: actor(EVIL, f"{EVIL}#other", FIRST)}, id="the key has another name"),
        pytest.param(
            {EVIL: {"id": EVIL, "publicKey": key(f"{EVIL}#main-key", UNA, FIRST)}}, id="the owner is on another host"
        ),
        pytest.param(
            {
                EVIL: {"id": EVIL, "publicKey": key(f"{EVIL}#main-key", f"{EVIL}2", FIRST)},
                f"{EVIL}2": actor(f"{EVIL}2", f"{EVIL}2#main-key", FIRST),
            },
            id="the owner does not name the key",
        ),
        pytest.param(
            {
                EVIL: {"id": EVIL, "publicKey": key(f"{EVIL}#main-key", f"{EVIL}2", FIRST)},
                f"{EVIL}2": {"id": f"{EVIL}2", "publicKey": key(f"{EVIL}#main-key", EVIL, FIRST)},
            },
            id="the owner names it as another's",
        ),
        pytest.param({EVIL: {"id": UNA, "publicKey": key(f"{EVIL}#main-key", UNA, FIRST)}}, id="a foreign actor"),
        pytest.param(
            {EVIL: {"id": EVIL, "publicKey": key(f"{EVIL}#main-key", EVIL, FIRST) | {"publicKeyPem": "x" * 40_000}}},
            id="the key is too long",
        ),
        pytest.param(
            {EVIL: {"id": EVIL, "publicKey": key(f"{EVIL}#main-key", EVIL, FIRST) | {"publicKeyPem": None}}},
            id="the key is no text",
        ),
        pytest.param(
            {EVIL: {"id": EVIL, "assertionMethod": multikey(f"{EVIL}#main-key", UNA, FIRST)}},
            id="the controller is on another host",
        ),
        pytest.param(
            {
                EVIL: {"id": EVIL, "assertionMethod": multikey(f"{EVIL}#main-key", f"{EVIL}2", FIRST)},
                f"{EVIL}2": {"id": f"{EVIL}2", "assertionMethod": [f"{EVIL}#main-key"]},
            },
            id="the controller names the key alone",
        ),
    ],
)
async def test_a_key_that_proves_nothing_is_refused(world: World, documents: dict[str, Document | Exception]) -> None:
    world.peer.documents = documents
    for _ in range(3):
        with pytest.raises(SignatureRefused):
            await world.ask(key_id=f"{EVIL}#main-key")
    assert len(world.peer.asked) <= 2  # and it is not fetched again for a minute


@pytest.mark.parametrize(
    "failure", [DocumentUnavailable("503"), DocumentRefused("403"), UnreadableDocument("a page in place of a document")]
)
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_key_that_can_not_be_had_now_is_not_refused(world: World, failure: Exception, is_known: bool) -> None:
    if is_known:
        await world.ask()
        world.clock.time += timedelta(minutes=2)
    world.peer.documents[UNA] = failure
    for _ in range(2):
        with pytest.raises(KeyUnavailable):
            await world.ask(SECOND)
    world.peer.documents[UNA] = actor(UNA, KEY_ID, SECOND)
    assert (await world.ask(SECOND)).uri == UNA


async def test_wrong_signatures_by_many_keys_fetch_a_bounded_number(world: World) -> None:
    uris = [f"https://host{number % 3}.peer.test/users/{number}" for number in range(REFETCHES + 5)]
    world.peer.documents = {uri: actor(uri, f"{uri}#main-key", FIRST) for uri in uris}
    for uri in uris:
        await world.ask(key_id=f"{uri}#main-key")
    world.clock.time += timedelta(minutes=2)
    world.peer.asked.clear()
    for number, uri in enumerate(uris):
        with pytest.raises(SignatureRefused if number < REFETCHES else KeyUnavailable):
            await world.ask(SECOND, f"{uri}#main-key")
    assert len(world.peer.asked) == REFETCHES
    assert (await world.ask(key_id=f"{uris[-1]}#main-key")).uri == uris[-1], "what a known key has signed is taken"


def without_signature(headers: dict[str, str]) -> None:
    del headers["signature"]


def with_another_host(headers: dict[str, str]) -> None:
    headers["host"] = "other.test"


@pytest.mark.parametrize("change", [without_signature, with_another_host])
async def test_nothing_is_fetched_for_a_request_that_can_not_hold(
    world: World, change: Callable[[dict[str, str]], object]
) -> None:
    request = world.request()
    headers = dict(request.headers)
    change(headers)
    with pytest.raises(SignatureRefused):
        await world.directory.authenticate(
            ReceivedRequest(request.method, request.base_url, request.path, headers, request.body)
        )
    assert world.peer.asked == []
