"""An account's actor: its writes in order, and its perspective, which decides what its owner sees.

Memory mirrors rows and changes only after commit. The commands are in `commands/`, a file for each noun.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from ..storage import follow_requests, status_flags, users
from ..storage.engine.database import Connection, Entering
from ..storage.engine.shards import shard_of
from ..storage.status_flags import Flags
from ..storage.upkeep.paging import Page
from .broadcast.viewers import Related, ViewerRules
from .change import Change
from .context import ActorContext
from .entity import EntityActor
from .facts.accounts import ChangedUser, ReloadedAccount
from .facts.fact import Fact, LearnFact, ReadAgain
from .facts.marks import ChangedConversationMutes, MarkedStatus, UnmarkedStatus
from .facts.relations import ChangedRelation
from .facts.statuses import ChangedStatus, DeletedStatus, PollChanged
from .kernel import Answer, Cell, Refused, Runtime, SystemMessage, turn
from .kernel.actor import Turn
from .rules.filters import NO_FILTERS, Filters
from .rules.visibility import ANONYMOUS, Perspective

P = ParamSpec("P")
Audience = Literal["here", "elsewhere", "notified"]
T = TypeVar("T")

DISABLED = Refused(403, "Your login is currently disabled")
MOST_REQUESTS_COUNTED = 40  # as Mastodon counts them
FLAGS_KEPT = 2_000  # statuses whose flags a viewer keeps in memory


@dataclass(frozen=True, slots=True)
class PerspectiveOf(SystemMessage[Perspective]):
    """Query: the account's perspective."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The part of an account that only its owner sees: the user, and the number of its follow requests."""

    user: users.User | None
    requests: int


@dataclass(frozen=True, slots=True)
class CredentialsOf(SystemMessage[Credentials]):
    """Query: the account's user and the number of its follow requests."""


@dataclass(frozen=True, slots=True)
class ViewerPart:
    """The part of statuses that depends on the viewer: the viewer's flags by status id, and the viewer's filters.

    The perspective decides which quoted statuses are shown.
    """

    account_id: int
    flags: Mapping[int, Flags]
    filters: Filters = NO_FILTERS
    perspective: Perspective = ANONYMOUS


@dataclass(frozen=True, slots=True)
class ViewerFlags(SystemMessage[ViewerPart]):
    """Query: the viewer's part of the statuses with these ids."""

    ids: tuple[int, ...]


class AccountChange(Change):
    """The transaction of a turn of an account."""

    __slots__ = ("account",)

    def __init__(self, account: AccountActor, db: Connection) -> None:
        super().__init__(db, account.context, account.address, account.shard, account.origin)
        self.account = account

    def count_again(self, *status_ids: int | None) -> None:
        """Publish that the counts of statuses have changed. An id of None is ignored."""
        self.publish(*(ChangedStatus(id) for id in status_ids if id is not None))


class AccountActor(EntityActor):
    """The owner of an account's rows. On a node that does not own the account, its copy only answers queries."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime, context)
        self.id = int(cell.address.key)
        self.rules = ViewerRules(self.id)  # empty until `load` reads them
        self.user: users.User | None = None  # None for accounts of other servers
        # The number of follow requests, and the number of acts of staff (`Facts`) at the time of the count.
        self.requests: tuple[int, int] | None = None
        self.flags: dict[int, Flags] = {}  # by status, the latest read at the end
        # The audience of the last post, beside local followers. It decides how the next post is tried to be stored.
        self.audience: Audience = "here"

    async def load(self) -> None:
        context = self.context
        reloaded = self._cell.incarnation > 1
        if reloaded:
            # A turn that crashed after its commit has published no facts, and may have changed rows of other accounts.
            # A client that repeats the request may be answered at once, before a relay has published them. The shard
            # may have moved since: its new owner publishes the promised facts, and does not know of the others.
            await context.facts.apply([ReloadedAccount(self.id)], publisher=self.address)
            context.facts.published_again(self.address)
        if (reloaded and context.others.owns(self.shard)) or context.others.took(self.shard):
            await context.outbox.publish_pending(self.address)
        await self.read_rows()

    async def read_rows(self) -> None:
        """Read the rows that this actor mirrors."""
        self.user = await self.context.database.read(users.find_user, self.id)
        self.rules = await self.context.viewers.read(self.id)
        self.requests = None
        self.flags.clear()

    def describe(self) -> str:
        following, flags, filtering = len(self.perspective.following), len(self.flags), len(self.filters.rows)
        return f"following {following}, flags {flags}, filters {filtering}"

    @property
    def shard(self) -> int:
        return shard_of(self.id)

    @property
    def entering(self) -> Entering:
        """The shard of this account and its epoch, for a statement that is a whole change."""
        return self.context.database.entering(self.shard)

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run this turn's one transaction: one storage function whose rows no cache and no other actor mirrors."""
        self.check_current()
        with self._noted(work):
            return await self.context.database.transact_in(self.shard, work, *args, **kwargs)

    async def change(
        self, work: Callable[Concatenate[AccountChange, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run this turn's one transaction, and publish its change after the commit. Return the answer of `work`.

        An answer that is a refusal rolls the transaction back.
        """
        transact = partial(self.context.database.transact_in, self.shard)
        return await self._change(transact, partial(AccountChange, self), work, *args, **kwargs)

    async def change_alone(
        self, work: Callable[Concatenate[AccountChange, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a change of one statement, which also enters the shard and writes the rows of its promises."""
        return await self._change(
            self.context.database.transact_checked, partial(AccountChange, self), work, *args, **kwargs
        )

    @classmethod
    def guarded(cls, message: type, function: Turn) -> Turn:
        """Refuse commands of a user who may not sign in: their requests may have begun earlier.

        Acts of staff, which have a field `staff`, and messages of the server itself are accepted.
        """
        if issubclass(message, SystemMessage) or "staff" in message.__annotations__:
            return function

        @wraps(function)
        def take(account: AccountActor, command: object) -> object:
            barred = account.user is not None and account.user.barred
            return DISABLED if barred else function(account, command)

        return take

    @property
    def perspective(self) -> Perspective:
        """The relations of the account as of the last fact. It may contain expired mutes: see `current_perspective`."""
        return self.rules.perspective

    @property
    def filters(self) -> Filters:
        return self.rules.filters

    @property
    def is_local(self) -> bool:
        """True if the account has a user on this server."""
        return self.user is not None

    @property
    def owner(self) -> users.User:
        """The user of this account. Raises LookupError for an account of another server, which has none."""
        if self.user is None:
            raise LookupError(f"{self.address} has no user")
        return self.user

    def apply(self, fact: Fact) -> None:
        """Apply a fact about this account to its memory. Facts about other accounts are ignored."""
        if type(fact) is ChangedRelation:
            self.requests = None  # also for a change of the other side, which may be a request
        if (apply := APPLYING.get(type(fact))) is not None and getattr(fact, "account_id", self.id) == self.id:
            apply(self, fact)

    def keep_flags(self, id: int, flags: Flags) -> None:
        self.flags.pop(id, None)
        self.flags[id] = flags
        if len(self.flags) > FLAGS_KEPT:
            del self.flags[next(iter(self.flags))]

    def current_perspective(self) -> Perspective:
        """Return the perspective without expired mutes."""
        self.rules.end_mutes(self.context.clock.now())
        return self.rules.perspective


@turn(AccountActor, PerspectiveOf)
def answer_perspective(account: AccountActor, message: PerspectiveOf) -> Perspective:
    return account.current_perspective()


@turn(AccountActor, CredentialsOf)
def answer_credentials(account: AccountActor, message: CredentialsOf) -> Answer[Credentials]:
    """Return the credentials from memory if the requests are counted, else after one query."""
    counted = account.requests
    if counted is None or counted[1] != account.context.facts.acts_of_staff:
        return _count_requests(account)
    return Credentials(account.user, counted[0])


async def _count_requests(account: AccountActor) -> Credentials:
    # Read before the query: a suspension during the query causes another count.
    acts = account.context.facts.acts_of_staff
    asking = await account.context.database.read(follow_requests.page, account.id, Page(MOST_REQUESTS_COUNTED))
    account.requests = len(asking), acts
    return Credentials(account.user, len(asking))


@turn(AccountActor, Related)
def change_relation(account: AccountActor, message: Related) -> None:
    account.apply(ChangedRelation(account.id, message))


@turn(AccountActor, LearnFact)
def apply_fact(account: AccountActor, message: LearnFact) -> None:
    account.apply(message.fact)


@turn(AccountActor, ReadAgain)
async def read_again(account: AccountActor, message: ReadAgain) -> None:
    await account.read_rows()


@turn(AccountActor, PollChanged)
def forget_votes(account: AccountActor, message: PollChanged) -> None:
    account.flags.pop(message.id, None)


@turn(AccountActor, ViewerFlags)
def viewer_part(account: AccountActor, message: ViewerFlags) -> Answer[ViewerPart]:
    """Return the viewer's part from memory if it has all flags, else after one query for the missing flags."""
    flags = account.flags
    try:
        return part_with(account, {id: flags[id] for id in message.ids})
    except KeyError:
        return _load_flags(account, message.ids, [id for id in message.ids if id not in flags])


async def _load_flags(account: AccountActor, ids: tuple[int, ...], missing: list[int]) -> ViewerPart:
    loaded = await account.context.database.read(status_flags.viewer_flags, account.id, missing)
    found = {id: flags for id in ids if (flags := loaded.get(id) or account.flags.get(id)) is not None}
    for id, flags in loaded.items():
        account.keep_flags(id, flags)
    return part_with(account, found)


def part_with(account: AccountActor, flags: Mapping[int, Flags]) -> ViewerPart:
    """Return the viewer's part of statuses with these flags."""
    return ViewerPart(account.id, flags, account.filters, account.current_perspective())


# Facts about the account -------------------------------------------------------------------------------------------


def _apply_user(account: AccountActor, fact: ChangedUser) -> None:
    account.user = fact.user


def _apply_mark(account: AccountActor, fact: MarkedStatus) -> None:
    flags = account.flags.get(fact.id)
    if flags is not None:
        account.flags[fact.id] = Flags(
            favourited=flags.favourited if fact.favourited is None else fact.favourited,
            reblogged=flags.reblogged if fact.reblogged is None else fact.reblogged,
            bookmarked=flags.bookmarked if fact.bookmarked is None else fact.bookmarked,
            muted=flags.muted,
            pinned=flags.pinned if fact.pinned is None else fact.pinned,
            votes=flags.votes if fact.votes is None else fact.votes,
        )


def _apply_new_status(account: AccountActor, fact: UnmarkedStatus) -> None:
    account.keep_flags(fact.id, Flags())


def _apply_deletion(account: AccountActor, fact: DeletedStatus) -> None:
    status = fact.deleted.status
    if status.account_id == account.id and status.reblog_of_id is not None:
        account.apply(MarkedStatus(account.id, status.reblog_of_id, reblogged=False))


def _apply_conversation_mutes(account: AccountActor, fact: ChangedConversationMutes) -> None:
    account.flags.clear()


# `Any` is the class of the key: the type of a dict can't express that.
APPLYING: dict[type, Callable[[AccountActor, Any], None]] = {
    ChangedUser: _apply_user,
    MarkedStatus: _apply_mark,
    UnmarkedStatus: _apply_new_status,
    DeletedStatus: _apply_deletion,
    ChangedConversationMutes: _apply_conversation_mutes,
}
