"""The text of all metrics, made in steps between which other tasks run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import trio
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from ...http.access.operations import SharedCheck
from ...storage.engine.database import StorageError
from ...storage.upkeep.backlog import Backlog, find_backlog
from .families import Sources, families

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
# Several programs may ask, and each count reads rows.
BACKLOG_KEPT = 5.0  # seconds
MOST_COUNTED = 100_000
SAMPLES_AT_ONCE = 500
HEAD_LINES = 2  # of a family: HELP and TYPE
PATIENCE = 2.0  # seconds for the count


class FamilyRegistry:
    """A registry of one family, for the library's writer."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def written(family: Metric) -> Iterator[bytes]:
    """Yield the text of a family in pieces that take some milliseconds each."""
    samples = family.samples
    for start in range(0, max(len(samples), 1), SAMPLES_AT_ONCE):
        family.samples = samples[start : start + SAMPLES_AT_ONCE]
        text = generate_latest(FamilyRegistry(family))
        yield text if start == 0 else text.split(b"\n", HEAD_LINES)[HEAD_LINES]


class Exposition:
    """Makes the text."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._backlog = SharedCheck(self._count, kept=BACKLOG_KEPT, patience=PATIENCE)

    async def run(self) -> None:
        """Measure, for ever, the values that only metrics need."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sources.lag.run)
            nursery.start_soon(self._backlog.run)

    async def text(self, *, ready: bool) -> bytes:
        """Return the text of all families."""
        backlog = await self._backlog.found()
        kinds = await self._sources.actors.runtime.inspection.kinds()
        parts: list[bytes] = []
        for family in families(self._sources, kinds, backlog, ready=ready):
            for part in written(family):
                parts.append(part)
                await trio.lowlevel.checkpoint()
        return b"".join(parts)

    async def _count(self) -> Backlog | None:
        """Count the waiting rows of the database. None while there is no database."""
        try:
            return await self._sources.database.read(find_backlog, self._sources.clock.now(), MOST_COUNTED)
        except StorageError:
            return None
