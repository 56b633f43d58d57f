"""Rate limits of a node of a cluster, in the place of those of a server that is alone (`rates.py`).

Requests and acts are counted by each node, which subtracts what the other nodes have told it
(`actors/cluster/counts.py`). The limit may be exceeded by a tenth.

Attempts are counted exactly: wrong passwords and codes, sign-ups, and mails. Their counts are rows, which survive every
node, and need no bus. An attempt is rare, and hashing its password takes as long as a hundred statements. An address
that goes on beyond its limit causes no statements, because its node has counted its attempts too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from ...actors.cluster.others import CountsOfNodes
from ...storage import rate_counts
from ...storage.engine.database import Database
from .rates import CountedAttempt, RateRule, Rates, RateStatus

# Attempts of a node until rows whose window is over are deleted, and the most of these rows.
SWEEP_EVERY = 100
MOST_SWEPT = 500


class RatesOfNodes(Rates):
    """The counts of this node, with those that the other nodes have told it."""

    def __init__(self, counts: CountsOfNodes) -> None:
        super().__init__()
        self._counts = counts

    def _count(self, rule: RateRule, subject: str, seconds: int) -> RateStatus:
        here = super()._count(rule, subject, seconds)
        others = self._counts.add(rule.name, rule.limit, here.reset, subject, rule.limit - here.remaining)
        return here._replace(remaining=here.remaining - others) if others else here


class StoredRates:
    """The counts of attempts on all nodes. The rows have hashes, because subjects are addresses and logins."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted = 0

    async def count(self, rule: RateRule, subject: str, now: datetime) -> RateStatus:
        """Count an attempt."""
        ends = _instant((int(now.timestamp()) // rule.seconds + 1) * rule.seconds)
        used, ends_at = await self._database.transact_alone(rate_counts.count, _key(rule, subject), ends)
        self._counted += 1
        if self._counted % SWEEP_EVERY == 0:
            await self._database.transact_alone(rate_counts.delete_ended, now, MOST_SWEPT)
        return RateStatus(rule.limit, rule.limit - used, int(ends_at.timestamp()))

    async def take_back(self, attempts: Sequence[CountedAttempt]) -> None:
        """Undo the counts of attempts, those of windows that are not over."""
        taken = [(_key(made.rule, made.subject), _instant(made.stored.reset)) for made in attempts if made.stored]
        if taken:
            keys, ends = zip(*taken, strict=True)
            await self._database.transact_alone(rate_counts.take_back, keys, ends)


def _key(rule: RateRule, subject: str) -> bytes:
    return hashlib.sha256(f"{rule.name}:{subject}".encode("utf-8", "surrogatepass")).digest()


def _instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
