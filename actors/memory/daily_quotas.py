"""The number of rows that servers of one registered domain may add here in a day: hostile ones can make up any number.

What a domain sends is done all the same when its quota is used up. Only the rows that come along with it are left out.
Shares are counted in memory, by each process: a restart gives each domain a new one. Names below a registered domain
cost its owner nothing, so all of them share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import trio
from cachetools import TTLCache

from ..rules.domains import registrable

DAY = 86_400.0  # seconds
COUNTED = 50_000  # quotas in memory, of about 200 bytes each

Kind: TypeAlias = Literal["accounts", "emojis", "hashtags", "keys", "schemes", "tombstones", "reports"]

# Above what the largest servers cause, and low enough that a year of each fits into a database.
MOST_A_DAY: dict[Kind, int] = {
    "accounts": 20_000,  # unknown accounts that are fetched and stored
    "emojis": 2_000,  # a server has some thousand at most, and they come once
    "hashtags": 5_000,  # that are new here
    "keys": 20_000,  # fetched because a signature names them, also those of accounts that are never stored
    "schemes": 500,  # hosts of which it is stored how they read signatures
    "tombstones": 20_000,  # for good, of what was never here
    "reports": 300,  # staff must read them
}

# In all, of one registered domain: emoji are kept as long as there may be a text with them.
MOST_EMOJIS = 20_000
# Of one status of another server: the first state, and the latest ones.
MOST_REVISIONS = 100


@dataclass(slots=True)
class _Quota:
    used: int = 0


class DailyQuotas:
    """One for each process. If too many domains are counted, the oldest counts are forgotten."""

    def __init__(self) -> None:
        self._quotas: TTLCache[tuple[Kind, str], _Quota] = TTLCache(COUNTED, DAY, timer=trio.current_time)

    def __len__(self) -> int:
        return len(self._quotas)

    def take(self, kind: Kind, host: str, wanted: int = 1) -> int:
        """Return how many of the wanted rows a host may still add, and count these."""
        quota = self._quotas.setdefault((kind, registrable(host)), _Quota())
        granted = max(0, min(wanted, MOST_A_DAY[kind] - quota.used))
        quota.used += granted
        return granted
