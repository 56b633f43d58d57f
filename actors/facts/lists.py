"""Facts about lists."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedList(Fact):
    """A list, or its members. Ids below `drawn` are older than the change."""

    id: int
    owner_id: int
    drawn: int

    @property
    def newest(self) -> int:
        return self.drawn

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.list_changed(self.id, self.owner_id)
