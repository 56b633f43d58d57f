"""Facts about how accounts stand to each other, and about the domains and hashtags that they chose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..broadcast import Related
from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedRelation(Fact):
    """The relation of an account to another one."""

    account_id: int
    change: Related

    @property
    def newest(self) -> int:
        return self.change.drawn

    def cache(self, facts: Facts) -> None:
        facts.viewers.relate(self.account_id, self.change)

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.related(self.account_id, self.change, origin)


@dataclass(frozen=True, slots=True)
class ChangedPairs(Fact):
    """Relations of these accounts changed, and how is not known.

    For each pair of an account and another one, in this order: a stamp above those of all changes that are committed.
    """

    accounts: Sequence[int]
    stamps: Sequence[tuple[int, int, int]]

    def cache(self, facts: Facts) -> None:
        """Messages about these pairs that still wait in mailboxes are older than the rows that are read then."""
        for one, other, stamp in self.stamps:
            facts.viewers.note_stamp(one, other, stamp)
            facts.viewers.note_stamp(other, one, stamp)
        for account_id in self.accounts:
            facts.accounts.drop(account_id)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        """Read the rows again for streams, and have the actors do so that are awake."""
        await facts.viewers.read_again(self.accounts)
        for account_id in self.accounts:
            facts.broadcast.reread(account_id)


@dataclass(frozen=True, slots=True)
class ChangedDomainBlocks(Fact):
    """All domains that an account blocks now."""

    account_id: int
    domains: frozenset[str]

    def cache(self, facts: Facts) -> None:
        facts.viewers.block_domains(self.account_id, self.domains)

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reread_home(self.account_id)


@dataclass(frozen=True, slots=True)
class ChangedFollowedTags(Fact):
    """All hashtags that an account follows now, as in `Perspective`."""

    account_id: int
    tags: dict[str, int]

    @property
    def newest(self) -> int:
        return max(self.tags.values(), default=0)

    def cache(self, facts: Facts) -> None:
        facts.viewers.follow_tags(self.account_id, self.tags)

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.resync_home(self.account_id)
