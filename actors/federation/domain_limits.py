"""Limits concurrent requests to other servers. Each domain has a few places, so that slow servers leave places to
others."""

from __future__ import annotations

from ..outgoing.limiter import RequestLimiter
from ..rules.domains import registrable

ALL = 128
OF_ONE_DOMAIN = 4


class DomainLimiter(RequestLimiter):
    """A `RequestLimiter` by the registered domains of hosts, because a domain may have any number of hosts."""

    def __init__(self, all: int = ALL, of_one_domain: int = OF_ONE_DOMAIN) -> None:
        super().__init__(of_one_domain, all, registrable)
