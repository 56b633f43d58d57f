"""Facts: what a commit changed, with what that means for the caches and for the actors that are awake.

A change publishes its facts (`change.py`). They are applied after the commit and before the answer, in two steps. First
`cache` brings the caches up to date, at once. Then `announce` tells the actors that are awake, which may need rows and
may have to wait for crowded timelines. A fact is one class, which says all of this about itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from ...storage.engine.database import Database
from ...storage.engine.json_values import JsonObject
from ..broadcast.broadcast import Broadcast, account_address
from ..broadcast.events import Keyed
from ..broadcast.viewers import Viewers
from ..kernel import NOWHERE, Address, Clock, Ids, Origin, SystemMessage
from ..kernel.codec import of_row
from ..promises import Effect, Promise
from ..rules.visibility import Perspective
from ..shown.statuses import AccountCache, StatusCache

F = TypeVar("F")
S = TypeVar("S", bound="StoredFact")

FACTS: dict[str, type[Fact]] = {}  # the classes of all facts, by their names


class Fact:
    """The base of all facts, which are frozen dataclasses. Most change no cache of this room, or tell no actor."""

    __slots__ = ()

    def __init_subclass__(cls, *, is_base: bool = False) -> None:
        super().__init_subclass__()
        if not is_base:
            FACTS[cls.__name__] = cls

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

    @classmethod
    def promised(cls, facts: Sequence[Any], by: Address) -> Iterable[Promise]:  # `Any` is this class
        """Return the promises that a change of the actor at `by` makes with its facts of this class.

        They are kept by a relay if the turn crashes before it has published the facts. Facts for the caches of this
        process alone have none.
        """
        return ()


class StoredFact(Fact, Effect, is_base=True):
    """The base of facts that can be rows of the outbox. A relay reads such a fact again from its row, and applies it.

    `stored_as` says which fields its row has. All other fields have defaults, because they are read again.
    """

    __slots__ = ()

    stored: ClassVar[Mapping[str, str]]  # the keys of the row, with the fields that they hold

    def as_row(self) -> JsonObject:
        return {key: getattr(self, field) for key, field in self.stored.items()}

    @classmethod
    def of_row(cls, row: JsonObject) -> Self:
        return of_row(cls, {cls.stored[key]: value for key, value in row.items() if key in cls.stored})

    def promised_by(self, account_id: int) -> Promise:
        """Return the promise to publish it, made by a turn of an account. All these of one account keep their order."""
        return Promise(self, f"account/{account_id}", account=account_id)

    @classmethod
    def promised(cls, facts: Sequence[Any], by: Address) -> Iterable[Promise]:  # `Any` is this class
        return [fact.promised_by(account_of(by)) for fact in facts]

    @abstractmethod
    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        """Return the facts to apply in its place, from the rows as they are now."""

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        """Return the events of it that the own streams of an account show to a client that was interrupted."""
        return []


STORED: dict[str, type[StoredFact]] = {}  # by kind
STREAMED: list[str] = []  # the kinds that streams show: they are logged after they were told


def stored_as(kind: str, row: Mapping[str, str], *, streamed: bool = False) -> Callable[[type[S]], type[S]]:
    """Register a fact as a kind of rows of the outbox. `row` has the keys of such rows, with the fields that they hold.

    Never change a kind or a key, because rows of earlier versions of the server are still read. A fact that streams
    show is `streamed`. `timelines/missed.py` shows it to clients that were interrupted.
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
    """To an account: a fact about it that another actor, or another process, has published."""

    fact: Fact

    @property
    def label(self) -> str:
        return f"LearnFact({type(self.fact).__name__})"


def account_of(by: Address) -> int:
    """Return the account whose actor is at an address."""
    return int(by.key)


def promises_with(facts: Iterable[Fact], by: Address) -> Iterator[Promise]:
    """Return the promises that the actor at `by` makes with facts."""
    of_class: dict[type[Fact], list[Fact]] = {}
    for fact in facts:
        of_class.setdefault(type(fact), []).append(fact)
    for kind, published in of_class.items():
        yield from kind.promised(published, by)


# Statuses that the relay has told of before their turns did. What such a turn would put into the caches is older than
# what has come since.
LATE_TURNS_REMEMBERED = 10_000


class Facts:
    """Applies facts in this process. The parts that facts work on are public."""

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
                self.ids.witness(newest)
            fact.cache(self)
            for observer in self._observers.get(type(fact), ()):
                observer(fact)

    async def announce(self, facts: Iterable[Fact], origin: Origin, publisher: Address | None = None) -> None:
        """Tell the awake actors, in the order of the facts. The actor that publishes them has applied them already."""
        for fact in facts:
            if (subject := fact.subject) is not None and account_address(subject) != publisher:
                self.broadcast.to_account(subject, LearnFact(fact), origin)
            if (waiting := fact.announce(self, origin)) is not None:
                await waiting

    def note_relayed(self, status_id: int) -> None:
        """Note that the relay has told of a status before its turn did."""
        self._relayed[status_id] = None
        if len(self._relayed) > LATE_TURNS_REMEMBERED:
            del self._relayed[next(iter(self._relayed))]

    def was_relayed(self, status_id: int) -> bool:
        return status_id in self._relayed
