"""Facts about statuses: one appeared, was edited, or went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage.deletions import Deleted, Remains
from ...storage.quotes import EndedQuote
from ..kernel import Origin
from ..statuses import ShownStatus
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedStatus(Fact):
    """A status's counts, or another part of it of which streams are not told."""

    id: int

    def cache(self, facts: Facts) -> None:
        facts.statuses.drop(self.id)


@dataclass(frozen=True, slots=True)
class PublishedStatus(Fact):
    """A status is there. Its rows are given if they are known. Streams don't show what is no `news`."""

    id: int
    shown: ShownStatus | None = None
    news: bool = True

    @property
    def newest(self) -> int:
        return self.id

    def cache(self, facts: Facts) -> None:
        """Cache the rows of the turn that published, unless the relay was first: the status may have changed since."""
        if self.shown is None:
            facts.note_relayed(self.id)
        elif facts.was_relayed(self.id):
            facts.statuses.drop(self.id)
            facts.accounts.drop(self.shown.author.id)
        else:
            if self.shown.status.quote_of_id is None:
                facts.statuses.put(self.id, self.shown.status)
            else:  # another account may have ended the quote since this row was read
                facts.statuses.drop(self.id)
            facts.accounts.put(self.shown.author.id, self.shown.author)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        if (shown := await self.show(facts)) is not None:
            facts.broadcast.published(shown, origin, news=self.news)

    async def show(self, facts: Facts) -> ShownStatus | None:
        """Return the status that timelines will be told of. None if it was deleted meanwhile: its deletion is told."""
        shown = self.shown
        if shown is None or shown.status.quote_of_id is not None:
            shown = await facts.statuses.show_latest(self.id)
        return None if facts.statuses.is_deleted(self.id) else shown


@dataclass(frozen=True, slots=True)
class EditedStatus(Fact):
    """A status was edited. The `rebloggers` boosted it, the `notified` were notified of a mention in it."""

    id: int
    edit_id: int
    rebloggers: Sequence[int]
    notified: Sequence[int]

    @property
    def newest(self) -> int:
        return self.edit_id

    def cache(self, facts: Facts) -> None:
        facts.statuses.drop(self.id)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        if (shown := await self.show(facts)) is not None:
            facts.broadcast.edited(shown, self.edit_id, self.rebloggers, self.notified, origin)

    async def show(self, facts: Facts) -> ShownStatus | None:
        """Return the status as it is now. None if it was deleted meanwhile: its deletion is told."""
        shown = await facts.statuses.show_latest(self.id)
        return None if facts.statuses.is_deleted(self.id) else shown


@dataclass(frozen=True, slots=True)
class EndedQuotes(Fact):
    """Quotes that are shown no more: they were revoked, or the quoted statuses were deleted."""

    quotes: Sequence[EndedQuote]

    @property
    def newest(self) -> int:
        return max((quote.change_id for quote in self.quotes), default=0)

    def cache(self, facts: Facts) -> None:
        for quote in self.quotes:
            facts.statuses.drop(quote.id)
            facts.statuses.drop(quote.quoted_id)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        """Show the quoting statuses again, as after an edit. No turn waits for crowded timelines because of this."""
        for quote in self.quotes:
            edited = EditedStatus(quote.id, quote.change_id, quote.rebloggers, quote.notified)
            await edited.announce(facts, origin)


@dataclass(frozen=True, slots=True)
class DeletedStatus(Fact):
    """A status was deleted, and its boosts with it."""

    deleted: Deleted

    @property
    def subject(self) -> int:
        return self.deleted.status.account_id

    def cache(self, facts: Facts) -> None:
        """Nothing shows the status or its boosts any more, and every count is read again."""
        status = self.deleted.status
        facts.statuses.delete(status.id)
        facts.accounts.drop(status.account_id)
        for counted in (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id):
            if counted is not None:
                facts.statuses.drop(counted)
        for boost, booster in self.deleted.reblogs:
            facts.statuses.delete(boost)
            facts.accounts.drop(booster)

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.deleted(self.deleted, origin)


@dataclass(frozen=True, slots=True)
class GoneStatus(Fact):
    """A status was deleted, and this is left of its rows. None: nothing is."""

    id: int
    account_id: int
    remains: Remains | None

    def cache(self, facts: Facts) -> None:
        facts.statuses.delete(self.id)

    def announce(self, facts: Facts, origin: Origin) -> None:
        if self.remains is not None:
            facts.broadcast.gone(self.id, self.account_id, self.remains, origin)
