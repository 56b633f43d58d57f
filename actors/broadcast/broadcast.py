"""The ways in which facts reach awake actors. The classes in `facts/` choose the actors.

The turn that committed publishes its facts before it answers, so that a client with the answer finds the change
everywhere. After a crash in between the outbox publishes the facts again. So every message may arrive twice: feeds
remember the events that they have shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import trio

from ...storage.timeline_entries import TimelineEntry
from ..kernel import Address, Cell, Message, Origin, Runtime
from ..kernel.inspection import SLICE
from ..rules.visibility import belongs_in_public, belongs_under_tags
from ..shown.statuses import ShownStatus, entry_of
from .audience import Audience
from .publications import Publications

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
    """The newest known version of each edited object, to ignore outdated messages.

    A timeline that crashed may have read an edit from rows while an earlier edit waits in its mailbox. Messages wait
    only for a moment, so the oldest versions may be forgotten.
    """

    def __init__(self) -> None:
        self._newest: dict[K, int] = {}

    def note(self, key: K, version: int) -> None:
        """Remember a version that was sent to actors or read from rows."""
        self._newest[key] = max(version, self._newest.pop(key, 0))
        if len(self._newest) > VERSIONS_REMEMBERED:
            del self._newest[next(iter(self._newest))]

    def is_overtaken(self, key: K, version: int) -> bool:
        """True if a later version is known."""
        return version < self._newest.get(key, 0)


class Broadcast:
    """Sends messages to awake actors, which it finds by the indexes of timelines."""

    def __init__(
        self,
        runtime: Runtime,
        audience: Audience[int],
        tagged: Audience[str],
        listed: Audience[int],
        owned: Audience[int],
        publications: Publications,
    ) -> None:
        self.runtime = runtime
        self._audience = audience
        self._tagged = tagged
        self._listed = listed
        self._owned = owned
        self.with_position = publications.with_position
        self.edits = NewestVersions[int]()  # ids of edits, by status
        self.reactions = NewestVersions[tuple[int, str]]()  # by announcement and name
        self._to_many = trio.Lock()  # held while a message goes to more actors than a slice has

    def is_crowded(self, shown: ShownStatus, recipients: Iterable[int] = ()) -> bool:
        """True if a timeline of the status, or the home of one of the `recipients`, is crowded."""
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
        """True if the home is awake. A sleeping home needs no message: it reads the rows when it wakes."""
        return bool(self.runtime.awake_among([home_address(account_id)]))

    # Messages -------------------------------------------------------------------------------------------------------

    def to_account(self, id: int, message: Message[None], origin: Origin) -> None:
        self.runtime.tell_awake(account_address(id), message, origin=origin)

    def to_home(self, account_id: int, message: Message[None], origin: Origin) -> None:
        self.runtime.tell_awake(home_address(account_id), message, origin=origin)

    async def to_all(self, kind: str, message: Message[None], origin: Origin) -> None:
        """Send a message to all awake actors of a kind.

        Many actors get it in slices, and other tasks run between these. All actors get such messages in one order.
        """
        if len(self.runtime.pools[kind].cells) <= SLICE and not self._to_many.locked():
            self.runtime.tell_all(kind, message, origin=origin)
            return
        async with self._to_many:
            for cells in self.runtime.awake_in_slices(kind):
                self.runtime.tell_cells(kind, cells, message, origin=origin)
                await trio.lowlevel.checkpoint()

    def to_followers(self, author: int, tags: Iterable[str], message: Message[None], origin: Origin) -> None:
        """Send a message to homes and lists that show statuses of an author, and to homes that follow a hashtag."""
        self.runtime.tell_cells("home", self._homes_of(author, tags), message, origin=origin)
        self.runtime.tell_cells("list", self._listed.of(author), message, origin=origin)

    def to_homes_and_lists(
        self, authors: Iterable[int], others: Iterable[int], message: Message[None], origin: Origin, *, tagged: bool
    ) -> None:
        """Send a message to the homes and lists that show statuses of these authors, and to the homes of `others`.

        With `tagged`, all homes that follow any hashtag get it too.
        """
        lists = {cell: None for author in authors for cell in self._listed.of(author)}
        homes = {cell: None for author in authors for cell in self._audience.of(author)}
        homes |= dict.fromkeys(self.runtime.awake_among(map(home_address, others)))
        if tagged:
            homes |= dict.fromkeys(self._tagged.all_cells)
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
        """Make an actor read its rows again."""
        self.runtime.resync(address)

    def reread_home(self, account_id: int) -> None:
        self.runtime.resync(home_address(account_id))

    def reread_lists(self, owner: int) -> None:
        """Make all lists of an account read their rows again."""
        for cell in self._owned.of(owner):
            self.runtime.resync(cell.address)

    def reread_timelines_of(self, author: int) -> None:
        """Make every timeline that may show statuses of an account read its rows again."""
        own = (*self._audience.of(author), *self._listed.of(author), *self._tagged.all_cells)
        for cell in dict.fromkeys((*own, *self.runtime.awake("public"), *self.runtime.awake("tag"))):
            self.runtime.resync(cell.address)

    async def reread_timelines(self, *, hold: bool = False) -> None:
        """Make every awake timeline read its rows again. With `hold`, its streams wait until then.

        Other tasks run between slices of many timelines. A timeline reads its rows after the messages that it gets
        meanwhile.
        """
        for kind in TIMELINES:
            for number, cells in enumerate(self.runtime.awake_in_slices(kind)):
                if number:
                    await trio.lowlevel.checkpoint()
                for cell in cells:
                    self.runtime.resync(cell.address, hold=hold)

    def _homes_of(self, author: int, names: Iterable[str]) -> Iterable[Cell]:
        """Return the awake homes that show statuses of an author or follow one of these hashtags, each once."""
        by_author = self._audience.of(author)
        by_tag = [cell for name in names for cell in self._tagged.of(name)]
        return dict.fromkeys([*by_author, *by_tag]) if by_tag else by_author


TIMELINES = ("home", "list", "public", "tag")  # the kinds of actors that show statuses
PUBLIC_ALL = Address("public", "all")
PUBLIC_LOCAL = Address("public", "local")
PUBLIC_REMOTE = Address("public", "remote")
PUBLIC_PLACES = (PUBLIC_ALL, PUBLIC_LOCAL, PUBLIC_REMOTE)
VERSIONS_REMEMBERED = 10_000
