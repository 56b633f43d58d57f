"""Signatures by RFC 9421, which newer servers send and read too. This file decides which components must be signed."""

# The library documents names that it does not mark as exported, and has few types.
# pyright: reportPrivateImportUsage=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import http_sf
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver
from http_message_signatures.algorithms import ED25519, RSA_V1_5_SHA256
from http_message_signatures.digests import ContentDigest
from http_message_signatures.exceptions import HTTPMessageSignaturesException

from .public_keys import PublicKey
from .requests import HASHES, ReceivedRequest, SignatureRefused, check_host, check_time, time_of
from .vocabulary import CONTENT_TYPE

LONGEST_HEADER = 8192
COMPONENTS = ("@method", "@target-uri")
# Components that other servers sign in place of the whole URL. An inbox ignores the query.
PARTS_OF_TARGET = ("@authority", "@path")
WHOLE_TARGET = ("@authority", "@request-target")
LABEL = "sig1"

# A member of a structured field with its parameters: the components that a signature covers, for example.
Member = tuple[object, Mapping[str, object]]
Members = Mapping[str, Member]  # by their names: the labels of signatures, or the kinds of digests


@dataclass(frozen=True, slots=True)
class Rfc9421Claim:
    """A signature that was checked, except for its key. `headers` have no other signature."""

    key_id: str
    signed_at: datetime
    request: ReceivedRequest
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _LibraryRequest:
    """A request in the shape that the library reads."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict[str, str])


class _OneKey(HTTPSignatureKeyResolver):
    """Resolves every id to the key that the caller has found."""

    def __init__(self, *, public: PublicKey | None = None, private: RSAPrivateKey | None = None) -> None:
        self._public = public
        self._private = private

    def resolve_public_key(self, key_id: str) -> PublicKey | None:
        return self._public

    def resolve_private_key(self, key_id: str) -> RSAPrivateKey | None:
        return self._private


class _KnownDigests(ContentDigest):
    """The digests of a body. Digests of unknown kinds are ignored (RFC 9530). At least one kind must be known."""

    @classmethod
    def verify(cls, value: str | bytes, body: bytes, *, key: str | None = None) -> None:
        if key is None and isinstance(value, str):
            known = {kind: digest for kind, digest in _members_of(value).items() if kind in HASHES}
            value = _written(known) if known else value
        super().verify(value, body, key=key)


class _Verifier(HTTPMessageVerifier):
    """The library's verifier without its clock: the times are checked before."""

    content_digest_class = _KnownDigests

    def validate_created_and_expires(self, sig_input: object, max_age: timedelta | None = None) -> None:
        pass


def claim_of(request: ReceivedRequest, now: datetime) -> Rfc9421Claim:
    """Return the claim of the `Signature-Input` header of a request. Raise SignatureRefused if it is invalid with any
    key."""
    label, signature = _sufficient_signature(request)
    _, parameters = signature
    key_id, created, expires = (parameters.get(name) for name in ("keyid", "created", "expires"))
    if not isinstance(key_id, str) or not key_id:
        raise SignatureRefused("the signature names no key")
    if type(created) is not int:
        raise SignatureRefused("the signature does not cover a time")
    signed_at = time_of(created)
    check_time(signed_at, now, time_of(expires) if type(expires) is int else None)
    check_host(request)
    return Rfc9421Claim(key_id, signed_at, request, _headers_with(request, label, signature))


def _sufficient_signature(request: ReceivedRequest) -> tuple[str, Member]:
    """Return the first signature that covers all required components, with its label.

    Proxies and services add signatures of their own, which cover less.
    """
    missing = set[str]()
    for label, signature in _members_of(request.headers["signature-input"]).items():
        covered = _covered_by(signature)
        needed = {*COMPONENTS, "content-digest"} if request.has_body else {*COMPONENTS}
        if covered.issuperset(PARTS_OF_TARGET) or covered.issuperset(WHOLE_TARGET):
            needed.remove("@target-uri")
        if needed <= covered:
            return label, signature
        missing = missing or needed - covered
    raise SignatureRefused(f"the signature does not cover {', '.join(sorted(missing)) or 'anything'}")


def _headers_with(request: ReceivedRequest, label: str, signature: Member) -> dict[str, str]:
    """Return the headers of a request without its other signatures: the library can't choose among several."""
    made = _members_of(request.headers.get("signature", "")).get(label)
    if made is None:
        raise SignatureRefused("the signature is not there")
    alone = {"signature-input": _written({label: signature}), "signature": _written({label: made})}
    return dict(request.headers) | alone


def holds(claim: Rfc9421Claim, key: PublicKey) -> bool:
    """True if the key has made the signature, and the signed digest is that of the body."""
    ed25519 = isinstance(key, Ed25519PublicKey)
    verifier = _Verifier(
        signature_algorithm=ED25519 if ed25519 else RSA_V1_5_SHA256,
        key_resolver=_OneKey(public=key),
    )
    request = claim.request
    message = _LibraryRequest(request.method, request.base_url + request.path, dict(claim.headers))
    try:
        verifier.verify(message, max_age=None, body=request.body if request.has_body else None)
    except (HTTPMessageSignaturesException, SignatureRefused):  # the latter for a digest that can't be read
        return False
    return True


def sign(
    key_id: str, key: RSAPrivateKey, method: str, url: str, body: bytes | None, now: datetime, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers of a signed request, with the signed headers `more`. A body is the body of an activity."""
    message = _LibraryRequest(method, url, ({} if body is None else {"Content-Type": CONTENT_TYPE}) | dict(more))
    components = (*COMPONENTS, *(name.lower() for name in more))
    signer = HTTPMessageSigner(signature_algorithm=RSA_V1_5_SHA256, key_resolver=_OneKey(private=key))
    signer.sign(message, key_id=key_id, created=now, label=LABEL, covered_component_ids=components, body=body)
    return message.headers


def _members_of(header: str) -> Members:
    """Return the members of a dictionary of structured fields. Raise SignatureRefused if the text is no dictionary."""
    if len(header) > LONGEST_HEADER:
        raise SignatureRefused("the signature is too long")
    try:
        return cast(Members, http_sf.parse(header.encode(), tltype="dictionary"))  # the library has no types
    except (ValueError, TypeError):
        raise SignatureRefused("the signature can't be read") from None


def _written(members: Members) -> str:
    """Return the members of a dictionary as a header has them."""
    return http_sf.ser(cast(Any, members))  # as above


def _covered_by(signature: Member) -> set[str]:
    """Return the components that a signature covers."""
    components, _ = signature
    if not isinstance(components, list):
        raise SignatureRefused("the signature can't be read")
    listed = cast(list[Member], components)
    # A component with parameters has another meaning: `"content-digest";req`, for example, is the digest of another
    # message.
    return {name for name, parameters in listed if isinstance(name, str) and not parameters}
