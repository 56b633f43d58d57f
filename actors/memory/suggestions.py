"""Suggestions of accounts to follow, for a viewer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from ...storage import suggestions
from ...storage.engine.database import Database
from ...storage.suggestions import Suggestion
from ..kernel.clock import Clock, first_id_at
from ..rules.visibility import Perspective
from .computed import Computed

INTERACTIONS_COUNT = timedelta(days=90)  # older interactions suggest nothing
ACTIVE = timedelta(days=90)  # popular accounts have posted since
POPULAR_LASTS = timedelta(minutes=10)

# Popular accounts among which a viewer gets the unknown accounts.
MOST_POPULAR = 500


class Suggestions:
    """Finds suggestions. The popular accounts are the same for all viewers."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.popular = Computed(self._popular, clock, POPULAR_LASTS)

    async def find(self, viewer_id: int, viewer: Perspective) -> Sequence[Suggestion]:
        """Return all suggestions, the best first."""
        return await self._database.read(
            suggestions.find, viewer_id,
            since=first_id_at(self._clock.now() - INTERACTIONS_COUNT), popular=await self.popular.get(),
            without=viewer.not_suggested, without_domains=viewer.domain_blocks,
        )  # fmt: skip

    async def _popular(self) -> list[int]:
        return await self._database.read(suggestions.popular, self._clock.now() - ACTIVE, MOST_POPULAR)
