"""Facts about relations between accounts, blocked domains, and followed hashtags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...storage import relations
from ...storage.engine.database import Connection
from ..broadcast.broadcast import account_address
from ..broadcast.viewers import Related
from ..kernel import Address, Origin
from ..promises import Promise
from .fact import Fact, Facts, StoredFact, account_of, stored_as


@dataclass(frozen=True, slots=True)
class ChangedRelation(Fact):
    """A changed relation of an account to another account."""

    account_id: int
    change: Related

    @property
    def newest(self) -> int:
        return self.change.drawn

    def cache(self, facts: Facts) -> None:
        facts.viewers.relate(self.account_id, self.change)

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify the account and its home. Its lists read their rows again."""
        facts.broadcast.to_home(self.account_id, self.change, origin)
        facts.broadcast.to_account(self.account_id, self.change, origin)
        facts.broadcast.reread_lists(self.account_id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedRelation], by: Address) -> Iterator[Promise]:
        """Yield one promise for all facts: each is about the account at `by` and another account, from either side."""
        me = account_of(by)
        pairs = [(fact.account_id, fact.change.other) for fact in facts]
        others = dict.fromkeys(id for pair in pairs for id in pair if id != me)
        yield ChangedPairs((me, *others)).promised_by(me)


@stored_as("relation", {"accounts": "accounts"})
@dataclass(frozen=True, slots=True)
class ChangedPairs(StoredFact):
    """Relations between the first of `accounts` and the others changed. The change is not known.

    `stamps` has each pair of accounts with a stamp above the stamps of all committed changes.
    """

    accounts: tuple[int, ...]
    stamps: Sequence[tuple[int, int, int]] = ()

    def cache(self, facts: Facts) -> None:
        """Note the stamps: waiting messages about these pairs are older than the rows that actors read afterwards."""
        for account, other, stamp in self.stamps:
            facts.viewers.note_stamp(account, other, stamp)
            facts.viewers.note_stamp(other, account, stamp)
        for account_id in self.accounts:
            facts.accounts.drop(account_id)

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Read the rows again for streams, and make the awake actors read theirs."""
        await facts.viewers.read_again(self.accounts)
        for account_id in self.accounts:
            facts.broadcast.reread(account_address(account_id))
            facts.broadcast.reread_home(account_id)
            facts.broadcast.reread_lists(account_id)

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        account, *others = self.accounts
        stamps = [(account, other, await facts.database.transact(_draw_stamp, account, other)) for other in others]
        return [ChangedPairs(self.accounts, stamps)]


@dataclass(frozen=True, slots=True)
class ChangedDomainBlocks(Fact):
    """Changed domain blocks of an account: `domains` are all that it blocks now."""

    account_id: int
    domains: frozenset[str]

    def cache(self, facts: Facts) -> None:
        facts.viewers.block_domains(self.account_id, self.domains)

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Make the home and the lists read the relations again. The account itself knows the change."""
        facts.broadcast.reread_home(self.account_id)
        facts.broadcast.reread_lists(self.account_id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedDomainBlocks], by: Address) -> Iterable[Promise]:
        return [ChangedPairs((fact.account_id,)).promised_by(fact.account_id) for fact in facts]


@dataclass(frozen=True, slots=True)
class ChangedFollowedTags(Fact):
    """Changed followed hashtags of an account: `tags` are all that it follows now, as in `Perspective`."""

    account_id: int
    tags: dict[str, int]

    @property
    def newest(self) -> int:
        return max(self.tags.values(), default=0)

    def cache(self, facts: Facts) -> None:
        facts.viewers.follow_tags(self.account_id, self.tags)

    def notify_actors(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reread_home(self.account_id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedFollowedTags], by: Address) -> Iterable[Promise]:
        return [ChangedPairs((fact.account_id,)).promised_by(fact.account_id) for fact in facts]


async def _draw_stamp(db: Connection, account: int, other: int) -> int:
    """Return a stamp above the stamps of all committed changes of a pair, and below the stamps of all later changes."""
    await relations.lock_pair(db, account, other)
    return await relations.stamp(db)
