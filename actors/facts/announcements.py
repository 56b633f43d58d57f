"""Facts about announcements of the operator."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage.announcements import ShownAnnouncement
from ..events import ReactionCounted
from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedAnnouncement(Fact):
    """An announcement as streams show it. None: it is not shown any more."""

    id: int
    shown: ShownAnnouncement | None

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.announced(self.id, self.shown, origin)


@dataclass(frozen=True, slots=True)
class CountedReaction(Fact):
    """The number of accounts that have reacted to an announcement with an emoji. A later count has a higher version."""

    announcement_id: int
    name: str
    count: int
    version: int

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reacted(ReactionCounted(self.announcement_id, self.name, self.count), self.version, origin)
