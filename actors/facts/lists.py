"""Facts about lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..broadcast.broadcast import list_address
from ..kernel import Address, Origin
from ..promises import Promise
from .fact import Fact, Facts, StoredFact, stored_as


@stored_as("list", {"id": "id", "account": "owner_id"})
@dataclass(frozen=True, slots=True)
class ChangedList(StoredFact):
    """A list, or its members. Ids below `drawn` are older than the change."""

    id: int
    owner_id: int
    drawn: int = 0

    @property
    def newest(self) -> int:
        return self.drawn

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Make the list, and its owner's home, read their rows again."""
        facts.broadcast.reread(list_address(self.id))
        facts.broadcast.reread_home(self.owner_id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedList], by: Address) -> Iterable[Promise]:
        return [Promise(fact, str(by), account=fact.owner_id) for fact in facts]

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [ChangedList(self.id, self.owner_id, facts.ids.next())]
