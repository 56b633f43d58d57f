"""Facts about the server itself."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage.custom_emojis import CustomEmoji
from .fact import Fact


@dataclass(frozen=True, slots=True)
class ChangedTrends(Fact):
    """Staff have decided about what may trend."""


@dataclass(frozen=True, slots=True)
class ChangedCustomEmojis(Fact):
    """All custom emoji that this server has now."""

    rows: tuple[CustomEmoji, ...]
