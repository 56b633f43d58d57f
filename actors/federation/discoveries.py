"""How many unknown accounts and servers this server lets others show it: hostile ones can make up any number."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import trio
from cachetools import TTLCache
from publicsuffixlist import PublicSuffixList

from .errors import DocumentMissing

WINDOW = 300.0  # seconds
ACCOUNTS = 400  # in a window, of one registrable domain
HOSTS = 10  # in a window, below one registrable domain
DOMAINS = 10_000  # that are counted


@dataclass(slots=True)
class _Window:
    """What was discovered below one domain since the window began."""

    hosts: set[str] = field(default_factory=set[str])
    accounts: int = 0


class Discoveries:
    """Counts new accounts by the domains that people register: all names below one cost their owner nothing."""

    def __init__(self) -> None:
        self._windows: TTLCache[str, _Window] = TTLCache(DOMAINS, WINDOW, timer=trio.current_time)

    def admit(self, host: str) -> None:
        """Count a new account of a host. Raise DocumentMissing if there were too many of its domain lately."""
        window = self._windows.setdefault(registrable(host), _Window())
        is_new = host not in window.hosts
        if window.accounts >= ACCOUNTS or (is_new and len(window.hosts) >= HOSTS):
            raise DocumentMissing("too many new accounts or servers of one domain")
        window.accounts += 1
        window.hosts.add(host)


def registrable(host: str) -> str:
    """Return the part of a host's name that somebody has registered, or the host if it has none."""
    name = host.partition(":")[0]
    return _list().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _list() -> PublicSuffixList:
    return PublicSuffixList()


class FetchBudget:
    """The number of documents that one cause, such as a received activity, may still have fetched."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self) -> None:
        """Count a document that will be fetched. Raise DocumentMissing if there were too many."""
        if self.left <= 0:
            raise DocumentMissing("too many documents for one cause")
        self.left -= 1
