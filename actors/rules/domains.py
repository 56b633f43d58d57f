"""The limits of a domain by the blocks of staff. No other code decides them.

The block of the longest name applies: a block of `example.com` applies to its subdomains too, unless these have blocks
of their own.
On a server with limited federation, a domain that is not allowed counts as suspended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from publicsuffixlist import PublicSuffixList

from ...storage.blocked_domains import BlockedDomain, Severity
from .identity import domain_of, pasted_domain

RANKS: dict[Severity, int] = {"noop": 0, "silence": 1, "suspend": 2}


@dataclass(frozen=True, slots=True)
class DomainStanding:
    """The limits of a domain."""

    suspended: bool = False
    silenced: bool = False
    rejects_media: bool = False
    rejects_reports: bool = False


UNRESTRICTED = DomainStanding()
SUSPENDED = DomainStanding(suspended=True, rejects_media=True, rejects_reports=True)


class DomainRules:
    """All blocks of domains in memory, and with `allowed` the only domains that the server deals with."""

    def __init__(self, blocks: Iterable[BlockedDomain] = (), allowed: Collection[str] | None = None) -> None:
        self._blocks = {block.domain: block for block in blocks}
        self._allowed = None if allowed is None else frozenset(allowed)

    def block_of(self, domain: str) -> BlockedDomain | None:
        """Return the block that applies to a domain."""
        if not self._blocks:
            return None
        return next((self._blocks[name] for name in with_parents(domain) if name in self._blocks), None)

    def blocks_of(self, domain: str) -> Iterator[BlockedDomain]:
        """Return all blocks of a domain and of its parent domains."""
        return (self._blocks[name] for name in with_parents(domain) if name in self._blocks)

    def allows(self, domain: str) -> bool:
        """True if federation is not limited, or the domain is allowed."""
        return self._allowed is None or any(name in self._allowed for name in with_parents(domain))

    def standing_of(self, domain: str) -> DomainStanding:
        """Return the limits of a domain, which is in lower-case ASCII, as `domain_of` returns it."""
        if not self.allows(domain):
            return SUSPENDED
        block = self.block_of(domain)
        if block is None:
            return UNRESTRICTED
        if block.severity == "suspend":
            return SUSPENDED
        return DomainStanding(False, block.severity == "silence", block.reject_media, block.reject_reports)


def with_parents(domain: str) -> Iterator[str]:
    """Return a domain and its parent domains, the longest first. Only the domain itself has its port."""
    yield domain
    name = domain.partition(":")[0]
    if name != domain:
        yield name
    while "." in name:
        name = name.partition(".")[2]
        yield name


def is_within(domain: str, other: str) -> bool:
    """True for a domain and its subdomains."""
    return domain == other or domain.partition(":")[0] == other or domain.partition(":")[0].endswith(f".{other}")


def mail_domain(written: str) -> str | None:
    """Return the domain of e-mail addresses that staff mean. None for a whole address, and for a domain with a port.

    `@example.org`, `*@example.org` and `%@example.org` are all addresses of a domain, as in a search for them.
    """
    text = written.strip()
    local, _, host = text.rpartition("@")
    domain = pasted_domain(host if local in ("*", "%") else text) if local in ("", "*", "%") else None
    return None if domain is None or ":" in domain else domain


def sought_addresses(written: str) -> tuple[str | None, str | None]:
    """Return the beginning and the domain of the e-mail addresses that staff look for. None: any.

    `@example.org`, `*@example.org` and `%@example.org` are all of a domain, and `example.org` may be either: it is
    returned twice. Elsewhere `%`, `*` and `_` are letters.
    """
    text = written.strip().lower()
    local, at, host = text.rpartition("@")
    if not at:
        domain = domain_of(text)
        return domain or text or None, domain
    if local not in ("", "*", "%"):
        return text, None
    host = host.rstrip("%*")
    return None, domain_of(host) or host or None


def is_stricter(block: BlockedDomain, other: BlockedDomain) -> bool:
    """True if a block forbids at least as much as another block."""
    if block.severity == "suspend":
        return True
    if RANKS[block.severity] < RANKS[other.severity]:
        return False
    return (block.reject_media or not other.reject_media) and (block.reject_reports or not other.reject_reports)


def digest_of(domain: str) -> str:
    """Return the SHA-256 of a domain, by which people find a domain whose name is not shown in full."""
    return hashlib.sha256(domain.encode()).hexdigest()


def obfuscated(domain: str) -> str:
    """Return a domain with stars in place of all but its first and last characters. Dots stay."""
    shown = len(domain) // 4
    return "".join(
        "*" if shown < place < len(domain) - shown and character != "." else character
        for place, character in enumerate(domain)
    )


def registrable(host: str) -> str:
    """Return the registered domain of a host, or the host if it has none."""
    name = host.partition(":")[0]
    return _list().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _list() -> PublicSuffixList:
    return PublicSuffixList()
