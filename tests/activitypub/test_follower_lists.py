"""The header that says which followers an account has on a server, and its digest."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from troupe.actors.activitypub.follower_lists import FollowerList, digest_of, read_header
from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.requests import ReceivedRequest
from troupe.actors.activitypub.signatures import SignatureScheme, SigningKey, claim_of, holds, sign

from ..signing import private_key

EVE = "https://b.example/users/eve"
TOLD = FollowerList(f"{EVE}/followers", f"{EVE}/followers_synchronization", "0f" * 32)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_what_is_written_is_read() -> None:
    assert read_header(TOLD.header, EVE) == TOLD
    shuffled = f'digest="{"0F" * 32}",url="{TOLD.url}" , collectionId="{TOLD.collection}"'
    assert read_header(shuffled, EVE) == TOLD


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "followers",
        TOLD.header.replace("b.example", "c.example"),
        TOLD.header.replace(TOLD.url, "https://c.example/list"),
        TOLD.header.replace(TOLD.collection, "https://c.example/followers"),
        TOLD.header.replace(TOLD.url, "file:///etc/passwd"),
        TOLD.header.replace("0f" * 32, "0f" * 31),
        TOLD.header.replace("0f" * 32, "0g" * 32),
        f"{TOLD.header}, {TOLD.header}",
        TOLD.header.replace("/followers_synchronization", "/f" * 2100),
        TOLD.header.replace("digest", "hash"),
    ],
)
def test_a_header_that_can_not_be_read_or_is_of_another_host_says_nothing(header: str | None) -> None:
    assert read_header(header, EVE) is None


def test_a_digest_is_the_same_in_any_order_and_all_zeros_for_nobody() -> None:
    one, other = "https://a.example/users/ada", "https://a.example/users/bob"
    hashes = [int(sha256(uri.encode()).hexdigest(), 16) for uri in (one, other)]
    assert digest_of([one, other]) == digest_of([other, one]) == f"{hashes[0] ^ hashes[1]:064x}"
    assert digest_of([]) == "0" * 64


@pytest.mark.parametrize("scheme", ["cavage", "rfc9421"])
def test_the_header_is_signed(scheme: SignatureScheme) -> None:
    key, more = SigningKey(f"{EVE}#main-key", private_key()), {"Collection-Synchronization": TOLD.header}
    sent = sign(key, "POST", "https://troupe.test/inbox", b"{}", NOW, scheme, more)
    assert sent["Collection-Synchronization"] == TOLD.header
    headers = {"host": "troupe.test"} | {name.lower(): text for name, text in sent.items()}
    changed = headers | {"collection-synchronization": TOLD.header.replace("0f", "1f")}
    for received, is_good in ((headers, True), (changed, False)):
        claim = claim_of(ReceivedRequest("POST", "https://troupe.test", "/inbox", received, b"{}"), NOW)
        assert holds(claim, public_pem(private_key())) is is_good
