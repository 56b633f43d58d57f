"""Limits new accounts and servers of other domains: a hostile server can make up any number."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio
from cachetools import TTLCache

from ..memory.daily_quotas import DailyQuotas
from ..rules.domains import registrable
from .errors import TooManyDiscoveries

WINDOW = 300.0  # seconds
ACCOUNTS = 400  # in a window, of a registrable domain
HOSTS = 10  # in a window, below a registrable domain
DOMAINS = 10_000  # that are counted


@dataclass(slots=True)
class _DomainTally:
    """The discoveries below a domain since the window began."""

    hosts: set[str] = field(default_factory=set[str])
    accounts: int = 0


class Discoveries:
    """Counts new accounts by registrable domains: the names below a domain cost its owner nothing."""

    def __init__(self, quotas: DailyQuotas) -> None:
        self._quotas = quotas
        self._windows: TTLCache[str, _DomainTally] = TTLCache(DOMAINS, WINDOW, timer=trio.current_time)

    def admit(self, host: str) -> None:
        """Count a new account of a host. Raise TooManyDiscoveries if there were too many of its domain lately."""
        window = self._windows.setdefault(registrable(host), _DomainTally())
        is_new = host not in window.hosts
        if window.accounts >= ACCOUNTS or (is_new and len(window.hosts) >= HOSTS):
            raise TooManyDiscoveries("too many new accounts or servers of one domain")
        if not self._quotas.take("accounts", host):
            raise TooManyDiscoveries("too many new accounts of one domain today")
        window.accounts += 1
        window.hosts.add(host)
