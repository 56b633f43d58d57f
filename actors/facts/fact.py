"""Facts: what a commit changed, with what that means for the caches and for the actors that are awake.

A change publishes its facts (`change.py`). They are applied after the commit and before the answer, in two steps. First
`cache` brings the caches up to date, at once. Then `announce` tells the actors that are awake, which may need rows and
may have to wait for crowded timelines. A fact is one class, which says all of this about itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...storage.engine.database import Database
from ..broadcast import Broadcast, account_address
from ..kernel import NOWHERE, Address, Ids, Origin, SystemMessage
from ..statuses import AccountCache, StatusCache
from ..viewers import Viewers

FACTS: dict[str, type[Fact]] = {}  # the classes of all facts, by their names


class Fact:
    """The base of all facts, which are frozen dataclasses. Most change no cache of this room, or tell no actor."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
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

    def note_relayed(self, status_id: int) -> None:
        """Note that the relay has told of a status before its turn did."""
        self._relayed[status_id] = None
        if len(self._relayed) > LATE_TURNS_REMEMBERED:
            del self._relayed[next(iter(self._relayed))]

    def was_relayed(self, status_id: int) -> bool:
        return status_id in self._relayed
