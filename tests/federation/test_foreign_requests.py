"""Deliveries as other servers write them: headers, digests and signatures in every spelling that is seen."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256, SHA512

from ..clients import Person, Reply, Stage
from ..signing import private_key
from .delivering import HOME, applied, deliver, follow
from .peer import ForeignServer

HOST = HOME.partition("://")[2]
COVERED = "(request-target) host date digest"


def digest(body: bytes, kind: str = "sha256") -> str:
    return base64.b64encode(hashlib.new(kind, body).digest()).decode()


@dataclass
class Written:
    """How a delivery is written. In texts, `{sha256}`, `{sha512}`, `{now}`, `{later}`, `{key}` and `{signature}` are
    filled in; a header that is None is not sent."""

    headers: dict[str, str | None] = field(default_factory=dict[str, str | None])
    covered: str = COVERED
    path: str = "/inbox"
    signed: dict[str, str] = field(default_factory=dict[str, str])  # values that are signed in place of those sent
    signature: str = 'keyId="{key}",algorithm="rsa-sha256",headers="{covered}",signature="{signature}"'
    hash: Any = field(default_factory=SHA256)


async def send(stage: Stage, activity: dict[str, Any], how: Written) -> Reply:
    body, now = json.dumps(activity).encode(), datetime.now(UTC)
    seconds = int(now.timestamp())
    texts = {
        "sha256": digest(body), "sha512": digest(body, "sha512"), "md5": digest(body, "md5"), "now": str(seconds),
        "later": str(seconds + 300), "key": f"{activity['actor']}#main-key", "covered": how.covered,
    }  # fmt: skip
    sent: dict[str, str | None] = {
        "Host": HOST, "Date": format_datetime(now, usegmt=True), "Digest": "SHA-256={sha256}",
        "Content-Type": "application/activity+json",
    } | how.headers  # fmt: skip
    headers = {name: value.format(**texts) for name, value in sent.items() if value is not None}
    values = {name.lower(): value for name, value in headers.items()} | {
        "(request-target)": f"post {how.path}", "(created)": texts["now"], "(expires)": texts["later"],
    } | {name: value.format(**texts) for name, value in how.signed.items()}  # fmt: skip
    base = "\n".join(f"{name}: {values[name]}" for name in how.covered.lower().split())
    texts["signature"] = base64.b64encode(private_key().sign(base.encode(), PKCS1v15(), how.hash)).decode()
    texts["bare_signature"] = texts["signature"].rstrip("=")
    headers["Signature"] = how.signature.format(**texts)
    return await stage.anybody().send("POST", how.path, headers=headers, data=body)


TAKEN: dict[str, Written] = {
    "with a charset": Written({"Content-Type": "application/activity+json; charset=utf-8"}),
    "as JSON-LD": Written({"Content-Type": "application/ld+json"}),
    "as JSON-LD with its profile": Written(
        {"Content-Type": 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'}
    ),
    "as JSON": Written({"Content-Type": "application/json"}),
    "in capitals": Written({"Content-Type": "Application/Activity+JSON;Charset=UTF-8"}),
    "as a form": Written({"Content-Type": "application/x-www-form-urlencoded"}),
    "as multipart without a boundary": Written({"Content-Type": "multipart/form-data"}),
    "with a content type that is none": Written({"Content-Type": "json"}),
    "without a content type": Written({"Content-Type": None}),
    "with an encoding of none": Written({"Content-Encoding": "identity"}),
    "digest in lower case": Written({"Digest": "sha-256={sha256}"}),
    "digest of mixed case": Written({"Digest": "Sha-256={sha256}"}),
    "several digests": Written({"Digest": "MD5={md5}, SHA-256={sha256},SHA-512={sha512}"}),
    "a longer digest alone": Written({"Digest": "SHA-512={sha512}"}),
    "the newer digest": Written(
        {"Digest": None, "Content-Digest": "sha-256=:{sha256}:"}, "(request-target) host date content-digest"
    ),
    "the newer digests": Written(
        {"Digest": None, "Content-Digest": "sha-512=:{sha512}:, sha-256=:{sha256}:"},
        "(request-target) host date content-digest",
    ),
    "both digests": Written({"Content-Digest": "sha-256=:{sha256}:"}, f"{COVERED} content-digest"),
    "host in capitals": Written({"Host": HOST.upper()}),
    "host with its usual port": Written({"Host": f"{HOST}:443"}),
    "host with its usual port, signed without": Written({"Host": f"{HOST}:443"}, signed={"host": HOST}),
    "more headers": Written({"Accept": "*/*", "User-Agent": "x"}, f"{COVERED} content-type accept user-agent"),
    "covered headers in capitals and apart": Written(covered="(Request-Target)  Host  Date   Digest"),
    "hs2019 with a date": Written(
        signature='keyId="{key}",algorithm="hs2019",headers="{covered}",signature="{signature}"'
    ),
    "hs2019 without a date": Written(
        {"Date": None}, "(request-target) (created) (expires) host digest",
        signature='keyId="{key}",algorithm="hs2019",created={now},expires={later},headers="{covered}",'
        'signature="{signature}"',
    ),
    "times as texts": Written(
        {}, "(request-target) (created) (expires) host date digest",
        signature='keyId="{key}",created="{now}",expires="{later}",headers="{covered}",signature="{signature}"',
    ),
    "times with fractions": Written(
        {}, "(request-target) (created) host date digest", signed={"(created)": "{now}.25"},
        signature='keyId="{key}",algorithm="hs2019",created={now}.25,headers="{covered}",signature="{signature}"',
    ),
    "with SHA-512": Written(
        hash=SHA512(), signature='keyId="{key}",algorithm="rsa-sha512",headers="{covered}",signature="{signature}"'
    ),
    "without an algorithm": Written(signature='keyId="{key}",headers="{covered}",signature="{signature}"'),
    "an algorithm that is not quoted": Written(
        signature='keyId="{key}",algorithm=rsa-sha256,headers="{covered}",signature="{signature}"'
    ),
    "an algorithm in capitals": Written(
        signature='keyId="{key}",algorithm="RSA-SHA256",headers="{covered}",signature="{signature}"'
    ),
    "parameters apart": Written(
        signature='  keyId = "{key}" , algorithm = "rsa-sha256" , headers="{covered}" ,  signature="{signature}"  '
    ),
    "the scheme of an Authorization header": Written(
        signature='Signature keyId="{key}",headers="{covered}",signature="{signature}"'
    ),
    "parameters in another order and case": Written(
        signature='Signature="{signature}",HEADERS="{covered}",KeyID="{key}"'
    ),
    "a signature apart from its name": Written(
        signature='Signature = "{signature}",headers="{covered}",keyId="{key}"'
    ),
    "a comma at the end": Written(signature='keyId="{key}",headers="{covered}",signature="{signature}", '),
    "unknown parameters": Written(
        signature='keyId="{key}",opaque="x",v=2,headers="{covered}",signature="{signature}"'
    ),
    "a signature that is not filled up": Written(
        signature='keyId="{key}",headers="{covered}",signature="{bare_signature}"'
    ),
    "a query": Written(path="/inbox?via=relay&x=%20"),
    "a query that is not signed": Written(path="/inbox?via=relay", signed={"(request-target)": "post /inbox"}),
    "a slash at the end": Written(path="/inbox/"),
    "a personal inbox": Written(path="/users/ada/inbox"),
    "a personal inbox with a slash": Written(path="/users/ada/inbox/"),
    "a personal inbox in capitals": Written(path="/users/ADA/inbox"),
}  # fmt: skip


@pytest.mark.parametrize("how", TAKEN.values(), ids=TAKEN)
async def test_a_delivery_is_taken_in_every_spelling(
    stage: Stage, ada: Person, peer: ForeignServer, how: Written
) -> None:
    eve = peer.person("eve")
    reply = await send(stage, follow(eve, "ada"), how)
    assert (reply.status, reply.body) == (202, b"")
    await applied(stage)
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/1"]]


REFUSED: dict[str, tuple[Written, str]] = {
    "no target": (Written(covered="host date digest"), "the signature does not cover (request-target)"),
    "the target alone": (
        Written(covered="(request-target)"), "the signature does not cover digest, host",
    ),
    "one of two digests is wrong": (
        Written({"Digest": "SHA-256={sha256},SHA-512={sha256}"}), "the digest is not that of the body",
    ),
    "a digest of another kind": (
        Written({"Digest": "MD5={md5}"}), "the digest is of another kind than SHA-256 and SHA-512",
    ),
    "a digest in hexadecimal": (Written({"Digest": "SHA-256=" + "0" * 64}), "the digest is not that of the body"),
    "another port": (Written({"Host": f"{HOST}:8443"}), "the request is meant for another server"),
    "the port of http": (Written({"Host": f"{HOST}:80"}), "the request is meant for another server"),
    "another algorithm": (
        Written(signature='keyId="{key}",algorithm="hmac-sha256",headers="{covered}",signature="{signature}"'),
        "the algorithm of the signature is not supported",
    ),
    "two signatures": (
        Written(signature='keyId="{key}",headers="{covered}",signature="{signature}",signature="{signature}"'),
        "the signature can't be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("how", "error"), REFUSED.values(), ids=REFUSED)
async def test_a_delivery_that_is_refused_says_why(
    stage: Stage, ada: Person, peer: ForeignServer, how: Written, error: str
) -> None:
    reply = await send(stage, follow(peer.person("eve"), "ada"), how)
    assert (reply.status, reply.json["error"]) == (401, error)
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'inbox'") == []


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "br", "deflate, gzip"])
async def test_a_body_in_an_encoding_is_refused_by_name(
    stage: Stage, ada: Person, peer: ForeignServer, encoding: str
) -> None:
    body = gzip.compress(json.dumps(follow(peer.person("eve"), "ada")).encode())
    reply = await deliver(stage, body, signer=peer.url("/users/eve"), headers={"Content-Encoding": encoding})
    assert (reply.status, reply.json["error"]) == (415, "The body has a Content-Encoding. Send it without one.")
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'inbox'") == []


@pytest.mark.parametrize("late", [timedelta(minutes=59), timedelta(minutes=-59)], ids=str)
async def test_the_clock_of_another_server_may_be_wrong_by_most_of_an_hour(
    stage: Stage, ada: Person, peer: ForeignServer, late: timedelta
) -> None:
    assert (await deliver(stage, follow(peer.person("eve"), "ada"), late=late)).status == 202
