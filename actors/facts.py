"""Facts: what a commit changed, and the one place that applies them to the caches and tells awake actors.

A turn says its facts once, after the commit and before the answer (`EntityActor.publish`). They are applied in two
steps. First `keep` brings the caches up to date, at once. Then `announce` tells the actors that are awake, which may
need rows and may have to wait for crowded timelines.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..storage.accounts import Account
from ..storage.announcements import ShownAnnouncement
from ..storage.custom_emojis import CustomEmoji
from ..storage.deletions import Deleted, Remains
from ..storage.engine.database import Database
from ..storage.filters import Filter
from ..storage.notifications import Notification
from ..storage.quotes import EndedQuote
from ..storage.users import User
from .broadcast import Broadcast, Related, account_address
from .conversations import ShownConversation
from .events import ReactionCounted
from .kernel import NOWHERE, Address, Ids, Origin, SystemMessage
from .notifications import show_notifications
from .statuses import AccountCache, ShownStatus, StatusCache
from .viewers import Viewers


@dataclass(frozen=True, slots=True)
class ChangedAccount:
    """An account's row, which is given if it is known, or its counts."""

    id: int
    row: Account | None = None


@dataclass(frozen=True, slots=True)
class ChangedUser:
    """The user of an account."""

    account_id: int
    user: User | None


@dataclass(frozen=True, slots=True)
class ChangedStatus:
    """A status's counts, or another part of it of which streams are not told."""

    id: int


@dataclass(frozen=True, slots=True)
class PublishedStatus:
    """A status is there. Its rows are given if they are known. Streams don't show what is no `news`."""

    id: int
    shown: ShownStatus | None = None
    news: bool = True


@dataclass(frozen=True, slots=True)
class EditedStatus:
    """A status was edited. The `rebloggers` boosted it, the `notified` were notified of a mention in it."""

    id: int
    edit_id: int
    rebloggers: Sequence[int]
    notified: Sequence[int]


@dataclass(frozen=True, slots=True)
class EndedQuotes:
    """Quotes that are shown no more: they were revoked, or the quoted statuses were deleted."""

    quotes: Sequence[EndedQuote]


@dataclass(frozen=True, slots=True)
class DeletedStatus:
    """A status was deleted, and its boosts with it."""

    deleted: Deleted


@dataclass(frozen=True, slots=True)
class GoneStatus:
    """A status was deleted, and this is left of its rows. None: nothing is."""

    id: int
    account_id: int
    remains: Remains | None


@dataclass(frozen=True, slots=True)
class MarkedStatus:
    """The flags that an account has put on a status. None stays as it is."""

    account_id: int
    id: int
    favourited: bool | None = None
    reblogged: bool | None = None
    bookmarked: bool | None = None
    pinned: bool | None = None
    votes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class UnmarkedStatus:
    """A new status, with which its author did nothing yet, and which is in no muted conversation."""

    account_id: int
    id: int


@dataclass(frozen=True, slots=True)
class ChangedConversationMutes:
    """The conversations that an account muted. Which statuses are in them is not known."""

    account_id: int


@dataclass(frozen=True, slots=True)
class AddedNotifications:
    """New notifications, of any accounts."""

    notifications: Sequence[Notification]


@dataclass(frozen=True, slots=True)
class MergedNotifications:
    """Filtered notifications of an account that are shown now."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ChangedConversation:
    """A conversation has a new last status or, when that is no news, was marked."""

    shown: ShownConversation
    news: bool = True


@dataclass(frozen=True, slots=True)
class ChangedList:
    """A list, or its members. Ids below `drawn` are older than the change."""

    id: int
    owner_id: int
    drawn: int


@dataclass(frozen=True, slots=True)
class ChangedRelation:
    """The relation of an account to another one."""

    account_id: int
    change: Related


@dataclass(frozen=True, slots=True)
class ChangedPairs:
    """Relations of these accounts changed, and how is not known.

    For each pair of an account and another one, in this order: a stamp above those of all changes that are committed.
    """

    accounts: Sequence[int]
    stamps: Sequence[tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class ChangedOwnRows:
    """The notifications or the conversations of an account, which the account itself has changed or removed."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ChangedDomainBlocks:
    """All domains that an account blocks now."""

    account_id: int
    domains: frozenset[str]


@dataclass(frozen=True, slots=True)
class ChangedFollowedTags:
    """All hashtags that an account follows now, as in `Perspective`."""

    account_id: int
    tags: dict[str, int]


@dataclass(frozen=True, slots=True)
class RevokedToken:
    """An access token that is valid no more: it was revoked or deleted."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class RotatedKey:
    """A local account has got another key to sign with."""

    account_id: int


@dataclass(frozen=True, slots=True)
class ModeratedAccount:
    """The states that staff put an account in, or a move. Its user is `barred` from the API if it may not act now."""

    account_id: int
    barred: bool


@dataclass(frozen=True, slots=True)
class ChangedTrends:
    """Staff have decided about what may trend."""


@dataclass(frozen=True, slots=True)
class ModeratedDomain:
    """The states of some of a domain's accounts, and of its subdomains'."""

    domain: str


@dataclass(frozen=True, slots=True)
class ChangedFilters:
    """All filters that an account has now."""

    account_id: int
    rows: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class ChangedCustomEmojis:
    """All custom emoji that this server has now."""

    rows: tuple[CustomEmoji, ...]


@dataclass(frozen=True, slots=True)
class ChangedAnnouncement:
    """An announcement as streams show it. None: it is not shown any more."""

    id: int
    shown: ShownAnnouncement | None


@dataclass(frozen=True, slots=True)
class CountedReaction:
    """The number of accounts that have reacted to an announcement with an emoji. A later count has a higher version."""

    announcement_id: int
    name: str
    count: int
    version: int


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


# The newest id that a fact carries. Where the fact is applied, ids are above it from then on, so that they tell what is
# older in all processes: a status is shown as news if its id is above that of the follow, the membership, the change.
NEWEST: dict[type, Callable[[Any], int]] = {
    ChangedAccount: lambda fact: fact.id,
    PublishedStatus: lambda fact: fact.id,
    EditedStatus: lambda fact: fact.edit_id,
    EndedQuotes: lambda fact: max((one.change_id for one in fact.quotes), default=0),
    AddedNotifications: lambda fact: max((one.id for one in fact.notifications), default=0),
    ChangedFollowedTags: lambda fact: max(fact.tags.values(), default=0),
    ChangedList: lambda fact: fact.drawn,
    ChangedRelation: lambda fact: fact.change.drawn,
}


# The account that a fact is about. Its actor learns what it did itself before the fact is announced.
SUBJECTS: dict[type, Callable[[Any], int]] = {
    ChangedUser: lambda fact: fact.account_id,
    MarkedStatus: lambda fact: fact.account_id,
    ChangedConversationMutes: lambda fact: fact.account_id,
    DeletedStatus: lambda fact: fact.deleted.status.account_id,
}


# Statuses that the relay has told of before their turns did. What such a turn would put into the caches is older than
# what has come since.
LATE_TURNS_REMEMBERED = 10_000


class Facts:
    """Applies facts in this process."""

    def __init__(
        self,
        database: Database,
        ids: Ids,
        accounts: AccountCache,
        statuses: StatusCache,
        viewers: Viewers,
        broadcast: Broadcast,
    ) -> None:
        self._database = database
        self._ids = ids
        self._accounts = accounts
        self._statuses = statuses
        self._viewers = viewers
        self._broadcast = broadcast
        # `Any` is the class of the key, here and below: the type of a dict cannot say that.
        self._observers: dict[type, list[Callable[[Any], None]]] = {}
        # Acts of staff on accounts and domains. What depends on the states of other accounts is read again after each.
        self.acts_of_staff = 0
        self._told_by_relay: dict[int, None] = {}  # statuses whose turns have not told of them, or not yet
        self._keep: dict[type, Callable[[Any], None]] = {
            ChangedAccount: self._keep_account,
            ChangedStatus: self._keep_status,
            PublishedStatus: self._keep_published,
            EditedStatus: self._keep_status,
            EndedQuotes: self._keep_quotes,
            DeletedStatus: self._keep_deleted,
            GoneStatus: self._keep_gone,
            ChangedPairs: self._keep_pairs,
            ChangedRelation: lambda fact: viewers.relate(fact.account_id, fact.change),
            ChangedDomainBlocks: lambda fact: viewers.block_domains(fact.account_id, fact.domains),
            ChangedFollowedTags: lambda fact: viewers.follow_tags(fact.account_id, fact.tags),
            ChangedFilters: lambda fact: viewers.filter_by(fact.account_id, fact.rows),
            ModeratedAccount: self._keep_moderation,
            ModeratedDomain: self._keep_domain,
        }
        # `Any` is the class of the key.
        self._announce: dict[type, Callable[[Any, Origin], Awaitable[None] | None]] = {
            PublishedStatus: self._announce_published,
            EditedStatus: self._announce_edited,
            EndedQuotes: self._announce_quotes,
            DeletedStatus: self._announce_deleted,
            GoneStatus: self._announce_gone,
            ChangedPairs: self._announce_pairs,
            AddedNotifications: self._announce_notifications,
            MergedNotifications: self._announce_merge,
            ChangedAnnouncement: self._announce_announcement,
            CountedReaction: self._announce_reaction,
            ChangedConversation: self._announce_conversation,
            ChangedList: self._announce_list,
            ChangedRelation: self._announce_relation,
            ChangedDomainBlocks: self._announce_domain_blocks,
            ChangedFollowedTags: self._announce_followed_tags,
            ModeratedAccount: self._announce_moderation,
            ModeratedDomain: self._announce_domain,
        }

    def observe(self, kind: type[F], keep: Callable[[F], None]) -> None:
        """Have facts of a kind applied to a cache that this room does not know, too."""
        self._observers.setdefault(kind, []).append(keep)

    async def apply(self, facts: Sequence[Fact], origin: Origin = NOWHERE) -> None:
        """Apply facts that no turn of an actor publishes: of a request, an effect, or a child of the tree."""
        self.keep(facts)
        await self.announce(facts, origin)

    def keep(self, facts: Iterable[Fact]) -> None:
        """Bring the caches up to date, and have new ids sort after those of the facts."""
        for fact in facts:
            if (newest := NEWEST.get(type(fact))) is not None:
                self._ids.witness(newest(fact))
            if (keep := self._keep.get(type(fact))) is not None:
                keep(fact)
            for observer in self._observers.get(type(fact), ()):
                observer(fact)

    async def announce(self, facts: Iterable[Fact], origin: Origin, publisher: Address | None = None) -> None:
        """Tell the awake actors, in the order of the facts. The actor that publishes them has learnt them already."""
        for fact in facts:
            if (subject := SUBJECTS.get(type(fact))) is not None and account_address(subject(fact)) != publisher:
                self._broadcast.tell_account(subject(fact), LearnFact(fact), origin)
            announce = self._announce.get(type(fact))
            if announce is not None and (waiting := announce(fact, origin)) is not None:
                await waiting

    async def show(self, fact: PublishedStatus | EditedStatus) -> ShownStatus | None:
        """Return the status that timelines will be told of. None if it was deleted meanwhile: its deletion is told."""
        shown = fact.shown if isinstance(fact, PublishedStatus) else None
        if shown is None or shown.status.quote_of_id is not None:
            shown = await self._statuses.show_latest(fact.id)
        return None if self._statuses.is_deleted(fact.id) else shown

    def announce_to_author(self, shown: ShownStatus, origin: Origin) -> None:
        """Tell the author's own home alone of a new status: the relay tells the others, and this home again."""
        self._broadcast.published_to_author(shown, origin)

    # Caches ---------------------------------------------------------------------------------------------------------

    def _keep_account(self, fact: ChangedAccount) -> None:
        if fact.row is None:
            self._accounts.drop(fact.id)
        else:
            self._accounts.put(fact.id, fact.row)

    def _keep_status(self, fact: ChangedStatus | EditedStatus) -> None:
        self._statuses.drop(fact.id)

    def _keep_published(self, fact: PublishedStatus) -> None:
        """Keep the rows of the turn that published, unless the relay was first: the status may have changed since."""
        if fact.shown is None:
            self._told_by_relay[fact.id] = None
            if len(self._told_by_relay) > LATE_TURNS_REMEMBERED:
                del self._told_by_relay[next(iter(self._told_by_relay))]
        elif fact.id in self._told_by_relay:
            self._statuses.drop(fact.id)
            self._accounts.drop(fact.shown.author.id)
        else:
            if fact.shown.status.quote_of_id is None:
                self._statuses.put(fact.id, fact.shown.status)
            else:  # another account may have ended the quote since this row was read
                self._statuses.drop(fact.id)
            self._accounts.put(fact.shown.author.id, fact.shown.author)

    def _keep_deleted(self, fact: DeletedStatus) -> None:
        """Nothing shows the status or its boosts any more, and every count is read again."""
        status = fact.deleted.status
        self._statuses.delete(status.id)
        self._accounts.drop(status.account_id)
        for counted in (status.in_reply_to_id, status.reblog_of_id, status.quote_of_id):
            if counted is not None:
                self._statuses.drop(counted)
        for boost, booster in fact.deleted.reblogs:
            self._statuses.delete(boost)
            self._accounts.drop(booster)

    def _keep_quotes(self, fact: EndedQuotes) -> None:
        for quote in fact.quotes:
            self._statuses.drop(quote.id)
            self._statuses.drop(quote.quoted_id)

    def _keep_gone(self, fact: GoneStatus) -> None:
        self._statuses.delete(fact.id)

    def _keep_pairs(self, fact: ChangedPairs) -> None:
        """Messages about these pairs that still wait in mailboxes are older than the rows that are read then."""
        for one, other, stamp in fact.stamps:
            self._viewers.note_stamp(one, other, stamp)
            self._viewers.note_stamp(other, one, stamp)
        for account_id in fact.accounts:
            self._accounts.drop(account_id)

    def _keep_moderation(self, fact: ModeratedAccount) -> None:
        self.acts_of_staff += 1

    def _keep_domain(self, fact: ModeratedDomain) -> None:
        """Drop all accounts: those of the domain are not known without reading them."""
        self.acts_of_staff += 1
        self._accounts.clear()

    # Awake actors ---------------------------------------------------------------------------------------------------

    async def _announce_published(self, fact: PublishedStatus, origin: Origin) -> None:
        if (shown := await self.show(fact)) is not None:
            self._broadcast.published(shown, origin, news=fact.news)

    async def _announce_edited(self, fact: EditedStatus, origin: Origin) -> None:
        if (shown := await self.show(fact)) is not None:
            self._broadcast.edited(shown, fact.edit_id, fact.rebloggers, fact.notified, origin)

    async def _announce_quotes(self, fact: EndedQuotes, origin: Origin) -> None:
        """Show the quoting statuses again, as after an edit. No turn waits for crowded timelines because of this."""
        for quote in fact.quotes:
            edited = EditedStatus(quote.id, quote.change_id, quote.rebloggers, quote.notified)
            await self._announce_edited(edited, origin)

    def _announce_deleted(self, fact: DeletedStatus, origin: Origin) -> None:
        self._broadcast.deleted(fact.deleted, origin)

    def _announce_gone(self, fact: GoneStatus, origin: Origin) -> None:
        if fact.remains is not None:
            self._broadcast.gone(fact.id, fact.account_id, fact.remains, origin)

    async def _announce_pairs(self, fact: ChangedPairs, origin: Origin) -> None:
        """Read the rows again for streams, and have the actors do so that are awake."""
        await self._viewers.read_again(fact.accounts)
        for account_id in fact.accounts:
            self._broadcast.reread(account_id)

    async def _announce_notifications(self, fact: AddedNotifications, origin: Origin) -> None:
        """Notifications whose sender or status is gone are not shown."""
        shown = await show_notifications(self._database, self._accounts, self._statuses, fact.notifications)
        for told in shown:
            self._broadcast.notified(told, origin)

    def _announce_announcement(self, fact: ChangedAnnouncement, origin: Origin) -> None:
        self._broadcast.announced(fact.id, fact.shown, origin)

    def _announce_reaction(self, fact: CountedReaction, origin: Origin) -> None:
        self._broadcast.reacted(ReactionCounted(fact.announcement_id, fact.name, fact.count), fact.version, origin)

    def _announce_merge(self, fact: MergedNotifications, origin: Origin) -> None:
        self._broadcast.merged(fact.account_id, origin)

    async def _announce_conversation(self, fact: ChangedConversation, origin: Origin) -> None:
        """Read the last status again if it quotes: the transaction's records lack the quoted one."""
        shown = fact.shown
        if shown.last is not None and shown.last.status.quote_of_id is not None:
            shown = replace(shown, last=await self._statuses.show_latest(shown.last.id))
        self._broadcast.conversation_changed(shown, origin, news=fact.news)

    def _announce_list(self, fact: ChangedList, origin: Origin) -> None:
        self._broadcast.list_changed(fact.id, fact.owner_id)

    def _announce_relation(self, fact: ChangedRelation, origin: Origin) -> None:
        self._broadcast.related(fact.account_id, fact.change, origin)

    def _announce_domain_blocks(self, fact: ChangedDomainBlocks, origin: Origin) -> None:
        self._broadcast.reread_home(fact.account_id)

    def _announce_moderation(self, fact: ModeratedAccount, origin: Origin) -> None:
        self._broadcast.moderated(fact.account_id)

    def _announce_domain(self, fact: ModeratedDomain, origin: Origin) -> None:
        self._broadcast.reread_timelines()

    def _announce_followed_tags(self, fact: ChangedFollowedTags, origin: Origin) -> None:
        self._broadcast.resync_home(fact.account_id)
