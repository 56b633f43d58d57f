"""Facts: committed changes, with their consequences for caches and awake actors.

A change publishes its facts (`change.py`). They are applied after the commit and before the answer, in two steps. First
`cache` updates the caches, without a wait. Then `notify_actors` sends messages to the awake actors, and may read rows
for this. Each kind of fact is one class with both methods.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from ...storage.accounts import Account
from ...storage.engine.database import Database, Unavailable
from ...storage.engine.json_values import JsonObject
from ...storage.statuses import Status
from ..broadcast.broadcast import Broadcast, account_address
from ..broadcast.events import Keyed
from ..broadcast.viewers import Viewers
from ..cluster.others import Alone, Others
from ..kernel import NOWHERE, Address, Clock, Ids, Message, Origin, Refused, SystemMessage, first_id_at
from ..kernel.codec import of_row
from ..promises import Effect, Promise
from ..rules.visibility import Perspective
from ..shown.statuses import AccountCache, StatusCache

F = TypeVar("F")
S = TypeVar("S", bound="StoredFact")

FACTS: dict[str, type[Fact]] = {}  # the classes of all facts, by their names


class Fact:
    """The base of all facts, which are frozen dataclasses. By default a fact changes no cache and notifies no actor."""

    __slots__ = ()

    def __init_subclass__(cls, *, is_base: bool = False) -> None:
        super().__init_subclass__()
        if not is_base:
            FACTS[cls.__name__] = cls

    @property
    def newest(self) -> int:
        """The newest id that the fact carries.

        Where the fact is applied, all later ids are above it. So ids order events of all processes: a status is news if
        its id is above that of the follow, of the membership, or of the change.
        """
        return 0

    @property
    def subject(self) -> int | None:
        """The account whose actor mirrors the fact. If this actor publishes the fact, it has applied it already."""
        return None

    @property
    def for_subject(self) -> Message[None]:
        """The message by which the actor of the subject is told."""
        return LearnFact(self)

    def cache(self, facts: Facts) -> None:
        """Update the caches."""

    def notify_actors(self, facts: Facts, origin: Origin) -> Awaitable[None] | None:
        """Notify the awake actors."""

    def before_relay(self) -> Fact:
        """Return the fact that other nodes apply at once, if timelines are crowded and the relay publishes this fact.

        It changes the same caches, and does not notify the crowded timelines.
        """
        return self

    @classmethod
    def promised(cls, facts: Sequence[Any], by: Address) -> Iterable[Promise]:  # `Any` is this class
        """Return the promises that a change of the actor at `by` stores for its facts of this class.

        A relay executes them if the turn crashes before it has published the facts. Facts that concern the caches of
        this process alone have none.
        """
        return ()


class StoredFact(Fact, Effect, is_base=True):
    """The base of facts that can be rows of the outbox. A relay reads the fact again from its row, and applies it.

    `stored_as` names the fields in its row. All other fields have defaults, because they are read again.
    """

    __slots__ = ()

    stored: ClassVar[Mapping[str, str]]  # the field under each key of the row

    def as_row(self) -> JsonObject:
        return {key: getattr(self, field) for key, field in self.stored.items()}

    @classmethod
    def of_row(cls, row: JsonObject) -> Self:
        return of_row(cls, {cls.stored[key]: value for key, value in row.items() if key in cls.stored})

    def promised_by(self, account_id: int) -> Promise:
        """Return the promise of an account's turn to publish the fact. Promises of one account keep their order."""
        return Promise(self, f"account/{account_id}", account=account_id)

    @classmethod
    def promised(cls, facts: Sequence[Any], by: Address) -> Iterable[Promise]:  # `Any` is this class
        return [fact.promised_by(account_of(by)) for fact in facts]

    @abstractmethod
    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        """Return the facts to apply in place of this fact, from the rows as they are now."""

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        """Return the events of this fact on an account's own streams, for a client that was interrupted."""
        return []


STORED: dict[str, type[StoredFact]] = {}  # by kind
STREAMED: list[str] = []  # the kinds that streams show: they are logged after their publication


def stored_as(kind: str, row: Mapping[str, str], *, streamed: bool = False) -> Callable[[type[S]], type[S]]:
    """Register a fact as a kind of rows of the outbox. `row` has the field of the fact under each key of the rows.

    Never change a kind or a key, because rows of earlier versions of the server are still read. A fact that streams
    show is `streamed`: `timelines/missed.py` shows it to clients that were interrupted.
    """

    def register(fact: type[S]) -> type[S]:
        fact.stored = row
        STORED[kind] = fact
        if streamed:
            STREAMED.append(kind)
        return fact

    return register


@dataclass(frozen=True, slots=True)
class LearnFact(SystemMessage[None]):
    """To an account: a fact about this account that another actor, or another process, has published."""

    fact: Fact

    @property
    def label(self) -> str:
        return f"LearnFact({type(self.fact).__name__})"


@dataclass(frozen=True, slots=True)
class ReadAgain(SystemMessage[None]):
    """To an account: facts about this account are lost, so that its rows must be read again."""


def account_of(by: Address) -> int:
    """Return the account whose actor is at an address."""
    return int(by.key)


def promises_with(facts: Iterable[Fact], by: Address) -> Iterator[Promise]:
    """Return the promises that a change of the actor at `by` stores for its facts."""
    of_class: dict[type[Fact], list[Fact]] = {}
    for fact in facts:
        of_class.setdefault(type(fact), []).append(fact)
    for kind, published in of_class.items():
        yield from kind.promised(published, by)


# Statuses that the relay has published before their turns. The rows of these turns may be older than the caches.
LATE_TURNS_REMEMBERED = 10_000
# The clocks of two nodes differ less than this, and a fact is never on its way for so long.
LONGEST_AWAY = timedelta(minutes=2)


class Changes(NamedTuple):
    """The numbers of changes of the caches of rows, as a transaction finds them."""

    of_accounts: int
    of_statuses: int


class Facts:
    """Applies facts in this process, and sends them to the other nodes. The parts that facts work on are public."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        ids: Ids,
        accounts: AccountCache,
        statuses: StatusCache,
        viewers: Viewers,
        broadcast: Broadcast,
    ) -> None:
        self.database = database
        self.clock = clock
        self.ids = ids
        self.accounts = accounts
        self.statuses = statuses
        self.viewers = viewers
        self.broadcast = broadcast
        self.others: Others = Alone()
        # `Any` is the class of the key: the type of a dict can't express that.
        self._observers: dict[type, list[Callable[[Any], None]]] = {}
        # The number of acts of staff on accounts and domains: values that depend on the states of accounts are cached
        # with it, and read again when it has changed.
        self.acts_of_staff = 0
        self._relayed: dict[int, None] = {}  # statuses that the relay has published, and not, or not yet, their turns
        # Of the caches that observe facts: what empties them, and what reads their rows again.
        self._clearing: list[Callable[[], None]] = []
        self._rereading: list[Callable[[], Awaitable[None]]] = []
        self._loaders: dict[str, list[Callable[[], Awaitable[None]]]] = {}
        self._since: Changes | None = None  # of the facts that are being cached
        self._publishing = 0  # the number of commits whose facts are being published
        # The actors whose facts may be committed and unpublished, until they restart. None: facts outside of turns.
        self._failed: set[Address | None] = set()
        self._unknown = 0  # ids up to this one may have been changed by facts that are lost

    def observe(self, kind: type[F], cache: Callable[[F], None]) -> None:
        """Call `cache` with each fact of a kind: for caches that the class of the fact does not know."""
        self._observers.setdefault(kind, []).append(cache)

    def clear_by(self, clear: Callable[[], None]) -> None:
        """Register what empties a cache that observes facts, when facts are lost."""
        self._clearing.append(clear)

    def reread_by(self, reread: Callable[[], Awaitable[None]]) -> None:
        """Register what reads rows again, when facts are lost, for memory that can't be emptied."""
        self._rereading.append(reread)

    def load_by(self, rows: str, load: Callable[[], Awaitable[None]]) -> None:
        """Register what reads rows into memory again when they were changed, or when facts are lost."""
        self._loaders.setdefault(rows, []).append(load)

    async def apply(self, facts: Sequence[Fact], origin: Origin = NOWHERE, publisher: Address | None = None) -> None:
        """Apply facts outside of turns: facts of a request, of an effect, of a load, or of a child of the tree."""
        self.cache(facts)
        await self.notify_actors(facts, origin, publisher)

    @contextmanager
    def publishing(self, actor: Address | None = None) -> Generator[None]:
        """A context for a commit and the publication of its facts: `has_published_all` is False until its end.

        If it fails, the other nodes may never get the facts. But nothing was committed if PostgreSQL was not there or
        has refused the epoch, or if the transaction has refused.
        """
        self._publishing += 1
        try:
            yield
        except (Unavailable, Refused):
            raise
        except BaseException:
            self._failed.add(actor)
            raise
        finally:
            self._publishing -= 1

    def published_again(self, actor: Address) -> None:
        """Note that an actor has restarted, and has published what makes up for the facts of its failed turns."""
        self._failed.discard(actor)

    @property
    def has_published_all(self) -> bool:
        """True if the other nodes were sent all facts that this process has committed, or will find their promises."""
        return not self._publishing and not self._failed

    @property
    def changes(self) -> Changes:
        """The changes of the caches so far: a transaction that begins now finds them."""
        return Changes(self.accounts.changes, self.statuses.changes)

    def cache(self, facts: Iterable[Fact], since: Changes | None = None) -> None:
        """Update the caches. New ids are above the ids of the facts from now on.

        `since` are the `changes` that the turn of these facts has found, None for facts of other nodes.
        """
        self._since = since
        for fact in facts:
            if newest := fact.newest:
                self.ids.witness(newest)
            fact.cache(self)
            for observer in self._observers.get(type(fact), ()):
                observer(fact)

    async def notify_actors(self, facts: Sequence[Fact], origin: Origin, publisher: Address | None = None) -> None:
        """Notify the awake actors of all nodes, in the order of the facts. The publisher has applied them already."""
        acknowledged = self.others.send(facts, origin)
        await self._notify_own_actors(facts, origin, publisher)
        if acknowledged is not None:
            await acknowledged

    async def receive(self, facts: Sequence[object], origin: Origin) -> None:
        """Apply the facts of a commit of another node."""
        received = [fact for fact in facts if isinstance(fact, Fact)]
        self.cache(received)
        await self._notify_own_actors(received, origin)

    async def _notify_own_actors(
        self, facts: Iterable[Fact], origin: Origin, publisher: Address | None = None
    ) -> None:  # fmt: skip
        for fact in facts:
            if (subject := fact.subject) is not None and account_address(subject) != publisher:
                self.broadcast.to_account(subject, fact.for_subject, origin)
            if (waiting := fact.notify_actors(self, origin)) is not None:
                await waiting

    # Rows in facts --------------------------------------------------------------------------------------------------
    # Another node may have changed a row after the transaction that has read it. Its fact can come before the fact with
    # the row, so the row is not stored if it was changed meanwhile.

    def put_account(self, row: Account) -> None:
        """Cache the row of an account. Its counts are changed from everywhere, so a row of another node is dropped."""
        if self._since is None:
            self.accounts.drop(row.id)
        else:
            self.accounts.put(row.id, row, self._since.of_accounts)

    def put_status(self, row: Status) -> None:
        """Cache the row of a new status: the insertion of a status is its oldest change."""
        if self._since is not None:
            self.statuses.put(row.id, row, self._since.of_statuses)
        elif row.id > self._unknown and not self.statuses.is_deleted(row.id):
            self.statuses.put_first(row.id, row)

    # Lost facts -----------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Empty all caches that follow facts. What awake actors and streams hold is not changed."""
        self.acts_of_staff += 1
        self._unknown = first_id_at(self.clock.now() + LONGEST_AWAY)
        self.accounts.clear()
        self.statuses.clear()
        for clear in self._clearing:
            clear()

    async def forget(self) -> None:
        """Forget everything that facts keep current, because facts of other nodes are lost.

        Caches are emptied at once. Awake accounts and timelines read their rows again before their next message. When
        the function returns, open streams follow the rows too. Raises Unavailable; then it must be called again.
        """
        self.clear()
        await self.broadcast.to_all("account", ReadAgain(), NOWHERE)
        await self.broadcast.reread_timelines(hold=True)
        await self.viewers.read_watched_again()
        for rows in self._loaders:
            await self.load(rows)
        for reread in self._rereading:
            await reread()

    async def load(self, rows: str) -> None:
        """Read rows into memory again."""
        for load in self._loaders.get(rows, ()):
            await load()

    def note_relayed(self, status_id: int) -> None:
        """Note that the relay has published a status before its turn."""
        self._relayed[status_id] = None
        if len(self._relayed) > LATE_TURNS_REMEMBERED:
            del self._relayed[next(iter(self._relayed))]

    def was_relayed(self, status_id: int) -> bool:
        return status_id in self._relayed
