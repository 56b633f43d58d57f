"""The followers of an account as two servers compare them, by FEP-8fcf: the header `Collection-Synchronization`.

The server of an author says with a delivery which followers it believes to be on the receiving server: not their names,
but the XOR of the SHA-256 of their URIs. If the receiving server has others, it asks for the list.
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
    """The followers that an account has on one server: the collection they are of, where they are listed, a digest."""

    collection: str
    url: str
    digest: str

    @property
    def header(self) -> str:
        return f'collectionId="{self.collection}", url="{self.url}", digest="{self.digest}"'


def read_header(text: str | None, signer: str) -> FollowerList | None:
    """Return what a header says; None if it can't be read, or is not about the host of the actor who has signed it."""
    if text is None or len(text) > LONGEST_HEADER:
        return None
    found = PARAMETER.findall(text)
    parameters = dict(found)
    if len(found) != len(parameters) or len(parameters) != len(("collectionId", "url", "digest")):
        return None
    told = FollowerList(parameters["collectionId"], parameters["url"], parameters["digest"].lower())
    of_signer = all(is_uri(uri) and same_host(uri, signer) for uri in (told.collection, told.url))
    return told if of_signer and DIGEST.fullmatch(told.digest) else None


def digest_of(uris: Iterable[str]) -> str:
    """Return the digest of followers, each named once. That of none is all zeros."""
    hashes = (int.from_bytes(sha256(uri.encode()).digest()) for uri in uris)
    return f"{reduce(int.__xor__, hashes, 0):064x}"
