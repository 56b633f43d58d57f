"""The ways in which facts reach the actors that are awake (`facts/` says who is told of which fact).

The turn that committed announces its facts before it answers, so that a client that has the answer finds the effect
everywhere. The outbox announces those again whose process crashed in between. So every message may arrive twice: feeds
remember which events they have shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from ...storage.timeline_entries import TimelineEntry
from ..kernel import Address, Cell, Message, Origin, Runtime
from ..rules.visibility import belongs_in_public, belongs_under_tags
from ..shown.statuses import ShownStatus, entry_of
from .audience import Audience
from .tellings import Tellings

K = TypeVar("K")


def account_address(id: int) -> Address:
    return Address("account", str(id))


def home_address(id: int) -> Address:
    return Address("home", str(id))


def list_address(id: int) -> Address:
    return Address("list", str(id))


def tag_address(name: str) -> Address:
    return Address("tag", name)


def public_places(entry: TimelineEntry) -> tuple[Address, Address]:
    """Return the public timelines that a public status may belong on."""
    return PUBLIC_ALL, PUBLIC_LOCAL if entry.local else PUBLIC_REMOTE


class NewestVersions(Generic[K]):
    """The newest known versions of things, by which messages are known that later ones have overtaken.

    A timeline that crashed may have read an edit from rows before an earlier one comes out of its mailbox. Messages are
    late by a moment, so the oldest things may be forgotten.
    """

    def __init__(self) -> None:
        self._newest: dict[K, int] = {}

    def note(self, key: K, version: int) -> None:
        """Remember a version that was sent to actors or read from the rows."""
        self._newest[key] = max(version, self._newest.pop(key, 0))
        if len(self._newest) > VERSIONS_REMEMBERED:
            del self._newest[next(iter(self._newest))]

    def is_overtaken(self, key: K, version: int) -> bool:
        """True if a later version is known."""
        return version < self._newest.get(key, 0)


class Broadcast:
    """The indexes of listening timelines, and the ways to send messages to them."""

    def __init__(
        self,
        runtime: Runtime,
        audience: Audience[int],
        tagged: Audience[str],
        listed: Audience[int],
        owned: Audience[int],
        tellings: Tellings,
    ) -> None:
        self.runtime = runtime
        self._audience = audience
        self._tagged = tagged
        self._listed = listed
        self._owned = owned
        self.told = tellings.told  # marks an event
        self.edits = NewestVersions[int]()  # ids of edits, by status
        self.reactions = NewestVersions[tuple[int, str]]()  # by announcement and name

    def is_crowded(self, shown: ShownStatus, recipients: Iterable[int] = ()) -> bool:
        """True if a timeline that a status goes to, or the home of one of these accounts, has too much to do."""
        crowds = {kind: self.runtime.crowd(kind) for kind in TIMELINES}
        if not any(crowds.values()):
            return False
        entry, awake = entry_of(shown), self.runtime.awake_among
        homes = awake(map(home_address, recipients))
        if crowds["home"].among(self._audience.cells(entry.account_id)) or crowds["home"].among(homes):
            return True
        if crowds["list"].among(self._listed.cells(entry.account_id)):
            return True
        places = public_places(entry) if belongs_in_public(entry) else ()
        if crowds["public"].among(awake(places)):
            return True
        names = entry.tags if belongs_under_tags(entry) else ()
        if any(crowds["home"].among(self._tagged.cells(name)) for name in names):
            return True
        return crowds["tag"].among(awake(map(tag_address, names)))

    def is_home_awake(self, account_id: int) -> bool:
        """False if a message to a home would go nowhere: it reads the rows when it wakes."""
        return bool(self.runtime.awake_among([home_address(account_id)]))

    # Messages -------------------------------------------------------------------------------------------------------

    def to_account(self, id: int, message: Message[None], origin: Origin) -> None:
        self.runtime.tell_awake(account_address(id), message, origin=origin)

    def to_home(self, account_id: int, message: Message[None], origin: Origin) -> None:
        self.runtime.tell_awake(home_address(account_id), message, origin=origin)

    def to_all(self, kind: str, message: Message[None], origin: Origin) -> None:
        """Send a message to all awake actors of a kind."""
        self.runtime.tell_all(kind, message, origin=origin)

    def to_followers(self, author: int, tags: Iterable[str], message: Message[None], origin: Origin) -> None:
        """Send a message to the homes and lists that show statuses of an author, and to homes that follow a hashtag."""
        self.runtime.tell_cells("home", self._homes_of(author, tags), message, origin=origin)
        self.runtime.tell_cells("list", self._listed.of(author), message, origin=origin)

    def to_homes_and_lists(
        self, authors: Iterable[int], others: Iterable[int], message: Message[None], origin: Origin, *, tagged: bool
    ) -> None:
        """Send a message to the homes and lists that show statuses of an author, and to the homes of `others`.

        If it is `tagged`, all homes that follow any hashtag get it too.
        """
        lists = {cell: None for author in authors for cell in self._listed.of(author)}
        homes = {cell: None for author in authors for cell in self._audience.of(author)}
        homes |= dict.fromkeys(self.runtime.awake_among(map(home_address, others)))
        if tagged:
            homes |= dict.fromkeys(self._tagged.everybody)
        self.runtime.tell_cells("home", homes, message, origin=origin)
        self.runtime.tell_cells("list", lists, message, origin=origin)

    def to_tags(self, names: Iterable[str], message: Message[None], origin: Origin) -> None:
        for name in names:
            self.runtime.tell_awake(tag_address(name), message, origin=origin)

    def to_public(self, places: Iterable[Address], message: Message[None], origin: Origin) -> None:
        for place in places:
            self.runtime.tell_awake(place, message, origin=origin)

    # Rows that actors read again ------------------------------------------------------------------------------------

    def reread(self, address: Address) -> None:
        """Have an actor read its rows again."""
        self.runtime.resync(address)

    def reread_home(self, account_id: int) -> None:
        self.runtime.resync(home_address(account_id))

    def reread_lists(self, owner: int) -> None:
        """Have all lists of an account read their rows again."""
        for cell in self._owned.of(owner):
            self.runtime.resync(cell.address)

    def reread_timelines_of(self, author: int) -> None:
        """Have every timeline that may show statuses of an account read its rows again."""
        own = (*self._audience.of(author), *self._listed.of(author), *self._tagged.everybody)
        for cell in dict.fromkeys((*own, *self.runtime.awake("public"), *self.runtime.awake("tag"))):
            self.runtime.resync(cell.address)

    def reread_timelines(self) -> None:
        """Have every awake timeline read its rows again."""
        for kind in TIMELINES:
            for cell in self.runtime.awake(kind):
                self.runtime.resync(cell.address)

    def _homes_of(self, author: int, names: Iterable[str]) -> Iterable[Cell]:
        """Return the awake homes that show statuses of an author, or those with a hashtag of these, each once."""
        by_author = self._audience.of(author)
        by_tag = [cell for name in names for cell in self._tagged.of(name)]
        return dict.fromkeys([*by_author, *by_tag]) if by_tag else by_author


TIMELINES = ("home", "list", "public", "tag")  # the kinds of actors that are told of statuses
PUBLIC_ALL = Address("public", "all")
PUBLIC_LOCAL = Address("public", "local")
PUBLIC_REMOTE = Address("public", "remote")
PUBLIC_PLACES = (PUBLIC_ALL, PUBLIC_LOCAL, PUBLIC_REMOTE)
VERSIONS_REMEMBERED = 10_000
