"""Facts about the server itself."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from ...storage.custom_emojis import CustomEmoji
from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedTrends(Fact):
    """Staff have decided which hashtags, statuses or links may trend."""


@dataclass(frozen=True, slots=True)
class ChangedCustomEmojis(Fact):
    """Custom emoji that were read again: `rows` are all that this server has now. Each node reads them itself."""

    rows: tuple[CustomEmoji, ...]


@dataclass(frozen=True, slots=True)
class ChangedRows(Fact):
    """Staff have changed rows that every server holds in memory, such as its blocks. `rows` is the name of the notice.

    A server that the fact does not reach reads the rows on the notice, a moment later.
    """

    rows: str

    def notify_actors(self, facts: Facts, origin: Origin) -> Awaitable[None]:
        """Read the rows again."""
        return facts.load(self.rows)
