"""Looks up the accounts and posts that imported files name, or returns the reason why they were not found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import trio
from cachetools import TTLCache

from ...storage.accounts import Account
from ..effects.imports import NotReached, host_asked
from ..effects.registry import NotTried
from ..kernel import Clock
from ..rules.domains import registrable
from .budgets import DEEPEST, Cause, FetchBudget, caused_by
from .discoveries import WINDOW
from .errors import (
    DocumentGone,
    DocumentMissing,
    DocumentUnavailable,
    DocumentUnknown,
    HostNotAllowed,
    ServerUnreachable,
    TooManyDiscoveries,
    UntrustedDocument,
)
from .resolver import Resolver

# Of a registered domain. A look-up takes two or three requests, so that there is less than a request in a second.
MOST_IN_AN_HOUR = 1000
HOUR = 3600.0  # seconds
COUNTED = 20_000  # domains
REQUESTS = 20  # of a look-up, with redirects
SILENT_FOR = 60.0  # seconds in which a server that was not reached gets no further request
SECONDS = 90.0  # for a look-up


@dataclass(slots=True)
class _HourlyTally:
    """The look-ups at a domain since the hour began."""

    began: float
    count: int = 0


class Finder:
    """Finds the targets of imports. Each process has an instance: the counts of an hour are in memory."""

    def __init__(self, resolver: Resolver, clock: Clock) -> None:
        self._resolver = resolver
        self._clock = clock
        self._tallies: TTLCache[str, _HourlyTally] = TTLCache(COUNTED, HOUR, timer=trio.current_time)
        self._full: TTLCache[str, None] = TTLCache(COUNTED, WINDOW, timer=trio.current_time)  # domains
        self._silent: TTLCache[str, str] = TTLCache(COUNTED, SILENT_FOR, timer=trio.current_time)

    async def find(self, kind: str, target: str) -> int | str:
        """Return the id of the account or post that a line names, or the reason why there is none. Raises NotReached or
        NotTried."""
        host = host_asked(target)
        if (reason := self._silent.get(host)) is not None:
            raise NotReached(reason)
        self._admit(registrable(host))
        thing = "post" if kind == "bookmarks" else "account"
        try:
            with trio.fail_after(SECONDS), caused_by(Cause(FetchBudget(REQUESTS), DEEPEST - 1)):
                found = await self._find(target)
        except TooManyDiscoveries:
            self._full[registrable(host)] = None
            raise self._not_now(WINDOW, "many new accounts of its domain") from None
        except HostNotAllowed:
            return "This server exchanges nothing with that server."
        except ServerUnreachable:
            self._silent[host] = "Its server can't be reached."
            raise NotReached(self._silent[host]) from None
        except (DocumentUnavailable, trio.TooSlowError):
            raise NotReached("Its server did not answer.") from None
        except DocumentGone:
            return f"Its server says that this {thing} was deleted."
        except DocumentUnknown:
            return f"Its server does not know this {thing}{', or does not show it' if thing == 'post' else ''}."
        except DocumentMissing:
            return f"Its server does not show this {thing}."
        except UntrustedDocument:
            return "The answer of its server can't be used."
        if isinstance(found, Account) != (thing == "account"):
            return "This address is not one of a post." if thing == "post" else "This address is not one of an account."
        return found.id if isinstance(found, Account) else found

    async def _find(self, target: str) -> Account | int:
        if "://" in target:
            return await self._resolver.require_resource(target)
        name, _, domain = target.partition("@")
        return await self._resolver.require_account(name, domain)

    def _admit(self, domain: str) -> None:
        """Count a look-up. Raises NotTried if there were too many, or if a new account could not be stored anyway."""
        if domain in self._full:
            raise self._not_now(WINDOW, "many new accounts of its domain")
        tally = self._tallies.setdefault(domain, _HourlyTally(trio.current_time()))
        if tally.count >= MOST_IN_AN_HOUR:
            left = tally.began + HOUR - trio.current_time()
            raise self._not_now(max(left, 1.0), "many look-ups at its domain")
        tally.count += 1

    def _not_now(self, seconds: float, reason: str) -> NotTried:
        return NotTried(self._clock.now() + timedelta(seconds=seconds), reason)
