"""The header `Collection-Synchronization` (FEP-8fcf), by which two servers compare the followers of an account.

The author's server sends with a delivery a digest of the followers that it knows on the receiving server: the XOR of
the SHA-256 of their URIs. If the receiving server gets another digest from its own rows, it fetches the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256

from .vocabulary import is_uri, same_host

HEADER = "Collection-Synchronization"
LONGEST_HEADER = 4300  # two URIs and a digest
PARAMETER = re.compile(r'(collectionId|url|digest)\s*=\s*"([^"]{1,2048})"\s*(?:,|$)')
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FollowerList:
    """The followers of an account on one server: the URI of all followers, the URL of this part, and its digest."""

    collection: str
    url: str
    digest: str

    @property
    def header(self) -> str:
        return f'collectionId="{self.collection}", url="{self.url}", digest="{self.digest}"'


def read_header(text: str | None, signer: str) -> FollowerList | None:
    """Return the list that a header names; None if it can't be read, or its URIs are not on the host of its signer."""
    if text is None or len(text) > LONGEST_HEADER:
        return None
    found = PARAMETER.findall(text)
    parameters = dict(found)
    if len(found) != len(parameters) or len(parameters) != len(("collectionId", "url", "digest")):
        return None
    listed = FollowerList(parameters["collectionId"], parameters["url"], parameters["digest"].lower())
    of_signer = all(is_uri(uri) and same_host(uri, signer) for uri in (listed.collection, listed.url))
    return listed if of_signer and DIGEST.fullmatch(listed.digest) else None


def digest_of(uris: Iterable[str]) -> str:
    """Return the digest of followers, each named once. Without followers it is all zeros."""
    hashes = (int.from_bytes(sha256(uri.encode()).digest()) for uri in uris)
    return f"{reduce(int.__xor__, hashes, 0):064x}"
