"""Facts: what a commit changed, with what that means for the caches and for the actors that are awake.

A change publishes its facts (`change.py`). They are applied after the commit and before the answer, in two steps. First
`cache` brings the caches up to date, at once. Then `announce` tells the actors that are awake, which may need rows and
may have to wait for crowded timelines. A fact is one class, which says all of this about itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..storage.accounts import Account
from ..storage.announcements import ShownAnnouncement
from ..storage.conversations import Conversation
from ..storage.custom_emojis import CustomEmoji
from ..storage.deletions import Deleted, Remains
from ..storage.engine.database import Database
from ..storage.filters import Filter
from ..storage.notifications import Notification
from ..storage.quotes import EndedQuote
from ..storage.users import User
from .broadcast import Broadcast, Related, account_address
from .conversations import shown_conversations
from .events import ReactionCounted
from .kernel import NOWHERE, Address, Ids, Origin, SystemMessage
from .notifications import show_notifications
from .statuses import AccountCache, ShownStatus, StatusCache
from .viewers import Viewers


class AnyFact:
    """The base of all facts, which are frozen dataclasses. Most change no cache of this room, or tell no actor."""

    __slots__ = ()

    @property
    def newest(self) -> int:
        """The newest id that the fact carries.

        Where the fact is applied, ids are above it from then on, so that they tell what is older in all processes: a
        status is shown as news if its id is above that of the follow, the membership, the change.
        """
        return 0

    @property
    def subject(self) -> int | None:
        """The account whose actor mirrors the fact. It applies what it did itself before the fact is announced."""
        return None

    def cache(self, facts: Facts) -> None:
        """Bring the caches up to date."""

    def announce(self, facts: Facts, origin: Origin) -> Awaitable[None] | None:
        """Tell the awake actors."""


@dataclass(frozen=True, slots=True)
class ChangedAccount(AnyFact):
    """An account's row, which is given if it is known, or its counts."""

    id: int
    row: Account | None = None

    @property
    def newest(self) -> int:
        return self.id

    def cache(self, facts: Facts) -> None:
        if self.row is None:
            facts.accounts.drop(self.id)
        else:
            facts.accounts.put(self.id, self.row)


@dataclass(frozen=True, slots=True)
class ChangedUser(AnyFact):
    """The user of an account."""

    account_id: int
    user: User | None

    @property
    def subject(self) -> int:
        return self.account_id


@dataclass(frozen=True, slots=True)
class ChangedStatus(AnyFact):
    """A status's counts, or another part of it of which streams are not told."""

    id: int

    def cache(self, facts: Facts) -> None:
        facts.statuses.drop(self.id)


@dataclass(frozen=True, slots=True)
class PublishedStatus(AnyFact):
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
        if (shown := await facts.show(self)) is not None:
            facts.broadcast.published(shown, origin, news=self.news)


@dataclass(frozen=True, slots=True)
class EditedStatus(AnyFact):
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
        if (shown := await facts.show(self)) is not None:
            facts.broadcast.edited(shown, self.edit_id, self.rebloggers, self.notified, origin)


@dataclass(frozen=True, slots=True)
class EndedQuotes(AnyFact):
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
class DeletedStatus(AnyFact):
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
class GoneStatus(AnyFact):
    """A status was deleted, and this is left of its rows. None: nothing is."""

    id: int
    account_id: int
    remains: Remains | None

    def cache(self, facts: Facts) -> None:
        facts.statuses.delete(self.id)

    def announce(self, facts: Facts, origin: Origin) -> None:
        if self.remains is not None:
            facts.broadcast.gone(self.id, self.account_id, self.remains, origin)


@dataclass(frozen=True, slots=True)
class MarkedStatus(AnyFact):
    """The flags that an account has put on a status. None stays as it is."""

    account_id: int
    id: int
    favourited: bool | None = None
    reblogged: bool | None = None
    bookmarked: bool | None = None
    pinned: bool | None = None
    votes: tuple[int, ...] | None = None

    @property
    def subject(self) -> int:
        return self.account_id


@dataclass(frozen=True, slots=True)
class UnmarkedStatus(AnyFact):
    """A new status, with which its author did nothing yet, and which is in no muted conversation."""

    account_id: int
    id: int


@dataclass(frozen=True, slots=True)
class ChangedConversationMutes(AnyFact):
    """The conversations that an account muted. Which statuses are in them is not known."""

    account_id: int

    @property
    def subject(self) -> int:
        return self.account_id


@dataclass(frozen=True, slots=True)
class AddedNotifications(AnyFact):
    """New notifications, of any accounts."""

    notifications: Sequence[Notification]

    @property
    def newest(self) -> int:
        return max((notification.id for notification in self.notifications), default=0)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        """Notifications whose sender or status is gone are not shown."""
        for shown in await show_notifications(facts.database, facts.accounts, facts.statuses, self.notifications):
            facts.broadcast.notified(shown, origin)


@dataclass(frozen=True, slots=True)
class MergedNotifications(AnyFact):
    """Filtered notifications of an account that are shown now."""

    account_id: int

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.merged(self.account_id, origin)


@dataclass(frozen=True, slots=True)
class ChangedConversation(AnyFact):
    """A conversation has a new last status or, when that is no news, was marked."""

    conversation: Conversation
    news: bool = True

    async def announce(self, facts: Facts, origin: Origin) -> None:
        (shown,) = await shown_conversations([self.conversation], facts.accounts, facts.statuses)
        facts.broadcast.conversation_changed(shown, origin, news=self.news)


@dataclass(frozen=True, slots=True)
class ChangedList(AnyFact):
    """A list, or its members. Ids below `drawn` are older than the change."""

    id: int
    owner_id: int
    drawn: int

    @property
    def newest(self) -> int:
        return self.drawn

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.list_changed(self.id, self.owner_id)


@dataclass(frozen=True, slots=True)
class ChangedRelation(AnyFact):
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
class ChangedPairs(AnyFact):
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
class ChangedOwnRows(AnyFact):
    """The notifications or the conversations of an account, which the account itself has changed or removed."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ChangedDomainBlocks(AnyFact):
    """All domains that an account blocks now."""

    account_id: int
    domains: frozenset[str]

    def cache(self, facts: Facts) -> None:
        facts.viewers.block_domains(self.account_id, self.domains)

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reread_home(self.account_id)


@dataclass(frozen=True, slots=True)
class ChangedFollowedTags(AnyFact):
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


@dataclass(frozen=True, slots=True)
class RevokedToken(AnyFact):
    """An access token that is valid no more: it was revoked or deleted."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class RotatedKey(AnyFact):
    """A local account has got another key to sign with."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ModeratedAccount(AnyFact):
    """The states that staff put an account in, or a move. Its user is `barred` from the API if it may not act now."""

    account_id: int
    barred: bool

    def cache(self, facts: Facts) -> None:
        facts.acts_of_staff += 1

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.moderated(self.account_id)


@dataclass(frozen=True, slots=True)
class ChangedTrends(AnyFact):
    """Staff have decided about what may trend."""


@dataclass(frozen=True, slots=True)
class ModeratedDomain(AnyFact):
    """The states of some of a domain's accounts, and of its subdomains'."""

    domain: str

    def cache(self, facts: Facts) -> None:
        """Drop all accounts: those of the domain are not known without reading them."""
        facts.acts_of_staff += 1
        facts.accounts.clear()

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reread_timelines()


@dataclass(frozen=True, slots=True)
class ChangedFilters(AnyFact):
    """All filters that an account has now."""

    account_id: int
    rows: tuple[Filter, ...]

    def cache(self, facts: Facts) -> None:
        facts.viewers.filter_by(self.account_id, self.rows)


@dataclass(frozen=True, slots=True)
class ChangedCustomEmojis(AnyFact):
    """All custom emoji that this server has now."""

    rows: tuple[CustomEmoji, ...]


@dataclass(frozen=True, slots=True)
class ChangedAnnouncement(AnyFact):
    """An announcement as streams show it. None: it is not shown any more."""

    id: int
    shown: ShownAnnouncement | None

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.announced(self.id, self.shown, origin)


@dataclass(frozen=True, slots=True)
class CountedReaction(AnyFact):
    """The number of accounts that have reacted to an announcement with an emoji. A later count has a higher version."""

    announcement_id: int
    name: str
    count: int
    version: int

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.reacted(ReactionCounted(self.announcement_id, self.name, self.count), self.version, origin)


Fact = (
    ChangedAccount | ChangedUser | ChangedStatus | PublishedStatus | EditedStatus | EndedQuotes | DeletedStatus
    | MarkedStatus | UnmarkedStatus | ChangedConversationMutes | AddedNotifications | MergedNotifications
    | ChangedConversation | ChangedRelation | ChangedDomainBlocks | ChangedFollowedTags | ChangedList | ChangedPairs
    | GoneStatus | RevokedToken | ModeratedAccount | ModeratedDomain | ChangedFilters | ChangedCustomEmojis
    | ChangedOwnRows
    | ChangedAnnouncement | CountedReaction | ChangedTrends | RotatedKey
)  # fmt: skip
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class LearnFact(SystemMessage[None]):
    """To an account: a fact about it that another actor, or another process, has published."""

    fact: Fact

    @property
    def label(self) -> str:
        return f"LearnFact({type(self.fact).__name__})"


# Statuses that the relay has told of before their turns did. What such a turn would put into the caches is older than
# what has come since.
LATE_TURNS_REMEMBERED = 10_000


class Facts:
    """Applies facts in this process. The parts that facts work on are public."""

    def __init__(
        self,
        database: Database,
        ids: Ids,
        accounts: AccountCache,
        statuses: StatusCache,
        viewers: Viewers,
        broadcast: Broadcast,
    ) -> None:
        self.database = database
        self.accounts = accounts
        self.statuses = statuses
        self.viewers = viewers
        self.broadcast = broadcast
        self._ids = ids
        # `Any` is the class of the key: the type of a dict cannot say that.
        self._observers: dict[type, list[Callable[[Any], None]]] = {}
        # Acts of staff on accounts and domains. What depends on the states of other accounts is read again after each.
        self.acts_of_staff = 0
        self._relayed: dict[int, None] = {}  # statuses whose turns have not told of them, or not yet

    def observe(self, kind: type[F], cache: Callable[[F], None]) -> None:
        """Have facts of a kind applied to a cache that this room does not know, too."""
        self._observers.setdefault(kind, []).append(cache)

    async def apply(self, facts: Sequence[Fact], origin: Origin = NOWHERE) -> None:
        """Apply facts that no turn of an actor publishes: of a request, an effect, or a child of the tree."""
        self.cache(facts)
        await self.announce(facts, origin)

    def cache(self, facts: Iterable[Fact]) -> None:
        """Bring the caches up to date, and have new ids sort after those of the facts."""
        for fact in facts:
            if newest := fact.newest:
                self._ids.witness(newest)
            fact.cache(self)
            for observer in self._observers.get(type(fact), ()):
                observer(fact)

    async def announce(self, facts: Iterable[Fact], origin: Origin, publisher: Address | None = None) -> None:
        """Tell the awake actors, in the order of the facts. The actor that publishes them has applied them already."""
        for fact in facts:
            if (subject := fact.subject) is not None and account_address(subject) != publisher:
                self.broadcast.tell_account(subject, LearnFact(fact), origin)
            if (waiting := fact.announce(self, origin)) is not None:
                await waiting

    async def show(self, fact: PublishedStatus | EditedStatus) -> ShownStatus | None:
        """Return the status that timelines will be told of. None if it was deleted meanwhile: its deletion is told."""
        shown = fact.shown if isinstance(fact, PublishedStatus) else None
        if shown is None or shown.status.quote_of_id is not None:
            shown = await self.statuses.show_latest(fact.id)
        return None if self.statuses.is_deleted(fact.id) else shown

    def announce_to_author(self, shown: ShownStatus, origin: Origin) -> None:
        """Tell the author's own home alone of a new status: the relay tells the others, and this home again."""
        self.broadcast.published_to_author(shown, origin)

    def note_relayed(self, status_id: int) -> None:
        """Note that the relay has told of a status before its turn did."""
        self._relayed[status_id] = None
        if len(self._relayed) > LATE_TURNS_REMEMBERED:
            del self._relayed[next(iter(self._relayed))]

    def was_relayed(self, status_id: int) -> bool:
        return status_id in self._relayed
