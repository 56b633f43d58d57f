"""Visits of users, in memory: a request costs no query. The sweep stores them every hour (`actors/expiry.py`)."""

from __future__ import annotations

import ipaddress
from datetime import date, datetime
from functools import lru_cache

from ...storage.visits import Visit

# Between two sweeps: a user who changes the address with every request fills no table, and a crowd no memory.
MOST_OF_AN_ACCOUNT = 20
MOST_ACCOUNTS = 100_000


class Visits:
    """The addresses that users have used since the last sweep. A crash loses them."""

    def __init__(self) -> None:
        self._of_accounts: dict[int, dict[tuple[date, str], datetime]] = {}

    def note(self, account_id: int, address: str, now: datetime) -> None:
        """Note that a user acts from an address. What is no IP address, such as a local socket, is left out."""
        ip = _plain(address)
        if ip is None:
            return
        of_account = self._of_accounts.get(account_id)
        if of_account is None:
            if len(self._of_accounts) >= MOST_ACCOUNTS:
                return
            of_account = self._of_accounts[account_id] = {}
        place = (now.date(), ip)  # of a clock that says UTC
        if place in of_account or len(of_account) < MOST_OF_AN_ACCOUNT:
            of_account[place] = now

    def take(self) -> list[Visit]:
        """Return all visits and forget them."""
        taken, self._of_accounts = self._of_accounts, {}
        return [Visit(id, *place, used_at) for id, one in taken.items() for place, used_at in one.items()]


@lru_cache(maxsize=4096)
def _plain(address: str) -> str | None:
    """Return an address in its shortest form, one of IPv4 always as such. None if it is none."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
