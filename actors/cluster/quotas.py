"""The daily quotas of a node of a cluster, with what the other nodes have used up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import trio
from cachetools import TTLCache

from ..memory.daily_quotas import COUNTED, DAY, MOST_A_DAY, DailyQuotas, Kind
from ..rules.domains import registrable
from .others import CountsOfNodes


class DailyQuotasOfNodes(DailyQuotas):
    """The quotas of all nodes. Their days are those of UTC, which begin at the same time on each node."""

    def __init__(self, counts: CountsOfNodes, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._counts = counts
        self._now = now
        self._used: TTLCache[tuple[int, Kind, str], int] = TTLCache(COUNTED, DAY, timer=trio.current_time)

    def __len__(self) -> int:
        return len(self._used)

    def take(self, kind: Kind, host: str, wanted: int = 1) -> int:
        ends, domain, limit = int((self._now().timestamp() // DAY + 1) * DAY), registrable(host), MOST_A_DAY[kind]
        rule, used = f"{kind} of a day", self._used.get((ends, kind, domain), 0)
        granted = max(0, min(wanted, limit - used - self._counts.of_others(rule, ends, domain)))
        if granted:
            self._used[ends, kind, domain] = used + granted
            self._counts.add(rule, limit, ends, domain, used + granted)
        return granted
