"""Facts about the server itself."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage.custom_emojis import CustomEmoji
from .fact import Fact


@dataclass(frozen=True, slots=True)
class ChangedTrends(Fact):
    """Staff have decided which hashtags, statuses or links may trend."""


@dataclass(frozen=True, slots=True)
class ChangedCustomEmojis(Fact):
    """Changed custom emoji of this server: `rows` are all that it has now."""

    rows: tuple[CustomEmoji, ...]
