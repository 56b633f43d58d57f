"""Signatures by draft-cavage-http-signatures-12, which all servers send and read."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from itertools import product
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from .requests import (
    HASHES,
    ReceivedRequest,
    SignatureRefused,
    check_host,
    check_time,
    decoded,
    digest_of,
    is_digest_of,
    time_of,
)
from .uris import ascii_uri
from .vocabulary import CONTENT_TYPE

LONGEST_HEADER = 8192
MOST_PARTS = 64

# Some libraries put the scheme first, as in an `Authorization` header. No draft allows it.
SCHEME = re.compile(r"\s*+(?i:signature)\s+(?![\s=])")
PARAMETER = re.compile(r'\s*([a-zA-Z]+)\s*=\s*(?:"([^"]*)"|([^\s",]+))\s*(?:,\s*|$)')
# The type of the key decides how a signature is verified. These are the accepted names of algorithms.
ALGORITHMS = frozenset({"", "hs2019", "rsa-sha256", "rsa-sha512", "rsa-v1_5-sha256", "ed25519", "ed25519-sha512"})
SECONDS = re.compile(r"([0-9]{1,12})(?:\.[0-9]{1,12})?")
PSEUDO_HEADERS = ("(request-target)", "(created)", "(expires)")


@dataclass(frozen=True, slots=True)
class CavageClaim:
    """A signature that was checked, except for its key.

    `bases` are the possible signing strings: some servers leave out the query or the port. All of them contain the time
    `signed_at`.
    """

    key_id: str
    signed_at: datetime
    signature: bytes
    bases: tuple[bytes, ...]


def claim_of(request: ReceivedRequest, now: datetime) -> CavageClaim:
    """Return the claim of the `Signature` header of a request. Raise SignatureRefused if it is invalid with any key."""
    parameters = _parameters(request.headers.get("signature", ""))
    key_id, encoded = parameters.get("keyid"), parameters.get("signature")
    if not key_id or not encoded:
        raise SignatureRefused("the signature names no key")
    if parameters.get("algorithm", "").lower() not in ALGORITHMS:
        raise SignatureRefused("the algorithm of the signature is not supported")
    # The defaults of the latest draft and of earlier drafts.
    parts = parameters.get("headers", "(created)" if "created" in parameters else "date").lower().split()
    _check_parts(request, parts)
    signed_at = _checked_time(request, parts, parameters, now)
    if request.has_body:
        _check_digest(request, parts)
    signature = decoded(encoded)
    if signature is None:
        raise SignatureRefused("the signature can't be read")
    return CavageClaim(_key_id(key_id), signed_at, signature, tuple(_bases(request, parts, parameters)))


def sign(
    key_id: str, key: RSAPrivateKey, method: str, url: str, body: bytes | None, now: datetime, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers of a signed request, with the signed headers `more`. A body is the body of an activity."""
    target = urlsplit(url)
    path = f"{target.path or '/'}?{target.query}" if target.query else target.path or "/"
    headers = {"Host": target.netloc, "Date": format_datetime(now, usegmt=True)}
    if body is not None:
        headers |= {"Digest": f"SHA-256={digest_of(body)}", "Content-Type": CONTENT_TYPE}
    headers |= more
    signed = {"(request-target)": f"{method.lower()} {path}"} | {name.lower(): text for name, text in headers.items()}
    base = "\n".join(f"{name}: {text}" for name, text in signed.items()).encode()
    signature = base64.b64encode(key.sign(base, PKCS1v15(), SHA256())).decode()
    parameters = {
        "keyId": key_id, "algorithm": "rsa-sha256", "headers": " ".join(signed), "signature": signature,
    }  # fmt: skip
    return headers | {"Signature": ",".join(f'{name}="{text}"' for name, text in parameters.items())}


def _parameters(header: str) -> dict[str, str]:
    """Return the parameters of a `Signature` header by their names in lower case, each given once."""
    if not header:
        raise SignatureRefused("the request is not signed")
    if len(header) > LONGEST_HEADER:
        raise SignatureRefused("the signature is too long")
    found: dict[str, str] = {}
    scheme = SCHEME.match(header)
    at = scheme.end() if scheme else 0
    while at < len(header):
        match = PARAMETER.match(header, at)
        if match is None or (name := match[1].lower()) in found:
            raise SignatureRefused("the signature can't be read")
        found[name] = match[3] if match[2] is None else match[2]
        at = match.end()
    return found


def _key_id(text: str) -> str:
    """Return the id of a key in ASCII. Headers are read as Latin-1, and some servers write UTF-8 there."""
    with suppress(UnicodeDecodeError):
        return ascii_uri(text.encode("latin-1").decode())
    return text


def _check_parts(request: ReceivedRequest, parts: Sequence[str]) -> None:
    """Refuse a signature that lacks a required part, or covers a header that the request does not have."""
    if len(parts) > MOST_PARTS or len(set(parts)) != len(parts):
        raise SignatureRefused("the signature can't be read")
    needed = {"(request-target)", "host"}
    # `Digest` is the header of the draft. `Content-Digest` has replaced it (RFC 9530).
    if request.has_body and "content-digest" not in parts:
        needed.add("digest")
    if missing := needed - set(parts):
        raise SignatureRefused(f"the signature does not cover {', '.join(sorted(missing))}")
    if not {"date", "(created)"} & set(parts):
        raise SignatureRefused("the signature does not cover a time")
    for name in parts:
        if name not in PSEUDO_HEADERS and name not in request.headers:
            raise SignatureRefused("the signature covers a header that the request does not have")
    check_host(request)


def _checked_time(
    request: ReceivedRequest, parts: Sequence[str], parameters: dict[str, str], now: datetime
) -> datetime:
    """Return the time that a signature covers. Refuse a signature that is too old, of the future, or expired."""
    expires_at = _time(parameters, "expires") if "(expires)" in parts else None
    covered = [_time(parameters, "created")] if "(created)" in parts else []
    if "date" in parts:
        covered.append(_date(request.headers["date"]))
    for signed_at in covered:
        check_time(signed_at, now, expires_at)
    return covered[0]


def _date(text: str) -> datetime:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        raise SignatureRefused("the date of the request can't be read") from None
    # In mails, `-0000` is UTC in a place that is not told: Python writes so. The oldest form of HTTP names no zone.
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date


def _time(parameters: dict[str, str], name: str) -> datetime:
    found = SECONDS.fullmatch(parameters.get(name, ""))
    if found is None:
        raise SignatureRefused("the time of the signature can't be read")
    return time_of(int(found[1]))


def _check_digest(request: ReceivedRequest, parts: Sequence[str]) -> None:
    """Refuse a body that does not fit the signed digest. If there are several digests, each known digest must fit."""
    header = request.headers["digest" if "digest" in parts else "content-digest"]
    pairs = (entry.partition("=") for entry in header.split(","))
    # In a Content-Digest the values stand between colons.
    digests = [(kind.strip().lower(), value.strip().strip(":")) for kind, _, value in pairs]
    fits = [is_digest_of(request.body, value, kind) for kind, value in digests if kind in HASHES]
    if not fits:
        raise SignatureRefused("the digest is of another kind than SHA-256 and SHA-512")
    if not all(fits):
        raise SignatureRefused("the digest is not that of the body")


def _bases(request: ReceivedRequest, parts: Sequence[str], parameters: dict[str, str]) -> Iterator[bytes]:
    """Yield the possible signing strings, that of the specification first."""
    # Some servers sign the path without its query, or the host without its port.
    paths = dict.fromkeys((request.path, request.path.partition("?")[0]))
    host = request.headers["host"].strip()
    hosts = dict.fromkeys((host, host.partition(":")[0]))
    for path, name in product(paths, hosts):
        values = {
            "(request-target)": f"{request.method.lower()} {path}", "host": name,
            "(created)": parameters.get("created", ""), "(expires)": parameters.get("expires", ""),
        }  # fmt: skip
        texts = (values[part] if part in values else request.headers[part].strip() for part in parts)
        yield "\n".join(f"{part}: {text}" for part, text in zip(parts, texts, strict=True)).encode()
