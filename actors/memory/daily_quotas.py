"""The number of rows that servers of a registered domain may add here in a day: hostile servers can invent any number.

When the quota of a domain is used up, its activities are still applied. Only their additional rows are left out. Quotas
are counted in memory: a restart resets them, unless other nodes of a cluster know them (`cluster/counts.py`). Names
below a registered domain cost its owner nothing, so all of them share its quota.
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

# More than the largest servers need, and so low that the rows of a year fit into a database.
MOST_A_DAY: dict[Kind, int] = {
    "accounts": 20_000,  # unknown accounts that are fetched and stored
    "emojis": 2_000,  # a server has some thousand at most, and they come once
    "hashtags": 5_000,  # that are new here
    "keys": 20_000,  # fetched because a signature names them, also those of accounts that are never stored
    "schemes": 500,  # hosts whose kind of signature is stored
    "tombstones": 20_000,  # kept for good, of objects that were never here
    "reports": 300,  # staff must read them
}

# In all, of a registered domain: emoji are kept as long as a text may have them.
MOST_EMOJIS = 20_000
# Of a status of another server: the first state, and the latest states.
MOST_REVISIONS = 100


@dataclass(slots=True)
class _Quota:
    used: int = 0


class DailyQuotas:
    """The quotas of a process. If too many domains are counted, the oldest counts are forgotten."""

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
