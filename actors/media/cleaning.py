"""Removing unused files and rows: left-overs of a crash, uploads in no status, unused cards and copies.

If the media store dies while it receives the files of an upload, the folder of the upload stays in `media/incoming`:
the cleaning finds by it the files that the store may have received.

In a cluster every node cleans its own left-overs, and the leader deletes rows. Two leaders at once delete no row twice:
a statement skips rows that another transaction has locked, or waits and finds them deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta

import trio

from ...storage import changed_settings, media, media_budget, preview_cards
from ...storage.engine.database import Connection, Database, Doubtful, Unavailable
from ...storage.federation import remote_files
from ...storage.files import COMMANDS, Folder
from ...storage.preview_cards import Swept
from ..cluster.others import Others
from ..effects.files import files_unused
from ..effects.previews import card_changed
from ..housekeeping.sweeps import counted
from ..kernel import NOWHERE, Clock, Record
from ..outbox.outbox import Outbox
from ..promises import Promise

EVERY = 3600.0  # seconds
LEFT_FOR = timedelta(days=1)  # when files of an unfinished upload count as left over; no upload takes this long
BUDGET = 10 * 1024**3  # bytes of all files that could be fetched again, unless staff chose another number
CLEANED_AT_ONCE = 500

# The kinds of removed rows and files, for the log.
LOOSE = "attachments in no post"
CARDS = "cards in no post"
COPIES = "copies of files"
OVER_BUDGET = "files over the budget"

# How long they are kept, since they were uploaded, fetched, or last looked at.
KEPT = {LOOSE: timedelta(days=1), CARDS: timedelta(days=1), COPIES: timedelta(days=30)}

# Stores promises in the transaction.
Promising = Callable[[Connection, Sequence[Promise]], Awaitable[object]]


class Cleaning:
    """Cleans up the left-overs of a crash at start, and everything every hour."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, outbox: Outbox, folder: Folder, others: Others
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._record = record
        self._outbox = outbox
        self._folder = folder
        self._others = others
        self._commands = Folder(folder.root, COMMANDS, folder.store)
        self._keys: dict[str, Folder] = {}  # of unfinished uploads that are left over; values: `_folder` or `_commands`
        self._ids: set[int] = set()  # of attachments whose waiting uploads may be left over

    async def find_left(self) -> None:
        """Note the files of this node that exist before its first upload: a crash left all of them."""
        await self._tidied(self._adopt)
        await self._tidied(self._find, None)

    async def run(self) -> None:
        """Clean every hour, without end."""
        while True:
            await self._tidied(self.remove_unstored)
            if self._others.is_leader:
                await self._tidied(self.clean)
            await trio.sleep(EVERY)
            await self._tidied(self._find, self._clock.now() - LEFT_FOR)

    async def _tidied(self, work: Callable[..., Awaitable[None]], *arguments: object) -> None:
        try:
            await work(*arguments)
        except (Unavailable, Doubtful):
            return  # the lost database is logged elsewhere, and the next round makes up for it
        except OSError as error:
            self._record("media.retry", message="cleaning", error=error, decision=f"again in {EVERY:g} s")

    async def _adopt(self) -> None:
        await trio.to_thread.run_sync(self._folder.adopt)

    async def _find(self, before: datetime | None) -> None:
        """Note unfinished uploads of this node without a change since `before` (None: all), and old uploads of others.

        A young waiting upload may be in use, because another node may be about to store its row. So may young files of
        commands, which may still run.
        """
        long_ago = self._clock.now() - LEFT_FOR
        for folder, until in ((self._folder, before), (self._commands, long_ago)):
            for key in await trio.to_thread.run_sync(folder.unfinished, until):
                self._keys[key] = folder
        self._ids.update(await trio.to_thread.run_sync(self._folder.uploads_waiting, long_ago))

    async def remove_unstored(self) -> None:
        """Remove files of uploads that were never stored."""
        published = {key: await self._folder.in_thread(self._folder.published, key) for key in self._keys}
        names = [name for of_key in published.values() for name in of_key]
        known = await self._database.read(media.known_files, names) if names else set[str]()
        rows = await self._database.read(media.find_many, list(self._ids)) if self._ids else {}
        unwanted = [name for name in names if name not in known]
        unwanted += [f"waiting/{id}" for id in self._ids if id not in rows or rows[id].state != "waiting"]
        keys, self._keys, self._ids = self._keys, {}, set()
        with counted(self._report) as counts:
            await self._remove(unwanted, counts)
            for key, folder in keys.items():
                await trio.to_thread.run_sync(folder.clear, key)
                counts["unfinished uploads"] += 1

    def _report(self, removed: str) -> None:
        self._record("media.cleaned", decision=removed)

    async def _remove(self, names: Iterable[str], counts: Counter[str]) -> None:
        """Remove each file by itself. An error with a file does not affect the others."""
        for name in names:
            try:
                await self._folder.in_thread(self._folder.remove, [name])
                counts["left-over files"] += 1
            except OSError as error:
                self._record("media.retry", message="cleaning", error=error, decision="left at its place")

    async def clean(self) -> None:
        """Delete attachments that were in no status for a day, and cards that no status shows.

        The outbox removes their files, also after a crash.
        """
        with counted(self._report) as counts:
            now = self._clock.now()
            while gone := await self._database.transact(delete_loose, self._promise, now - KEPT[LOOSE]):
                counts[LOOSE] += gone
                self._outbox.wake()
            after: int | None = 0
            while after is not None:
                swept = await self._database.transact(delete_cards, self._promise, after, now - KEPT[CARDS])
                counts[CARDS] += swept.count
                after = swept.last_id
                self._outbox.wake()
            while gone := await self._database.transact(delete_copies, self._promise, now - KEPT[COPIES]):
                counts[COPIES] += gone
                self._outbox.wake()
            counts[OVER_BUDGET] += await self._apply_budget()

    async def apply_budget(self) -> None:
        """Forget files that could be fetched again if all of them take more room than they may."""
        with counted(self._report) as counts:
            counts[OVER_BUDGET] += await self._apply_budget()

    async def _apply_budget(self) -> int:
        count = 0
        while gone := await self._database.transact(apply_budget, self._promise):
            count += gone
            self._outbox.wake()
        return count

    async def _promise(self, db: Connection, promises: Sequence[Promise]) -> object:
        return await self._outbox.promise(db, promises, NOWHERE)


async def delete_loose(db: Connection, promise: Promising, before: datetime) -> int:
    """Delete some attachments that were in no status since a time. Return how many."""
    gone = await media.delete_loose(db, before, CLEANED_AT_ONCE)
    await _remove_files(db, promise, [file for medium in gone for file in medium.files])
    return len(gone)


async def delete_cards(db: Connection, promise: Promising, after: int, before: datetime) -> Swept:
    """Delete cards that no status shows and that were fetched before a time. Examine the next cards after an id."""
    swept = await preview_cards.delete_unused(db, after, before, CLEANED_AT_ONCE)
    await _remove_files(db, promise, swept.images)
    return swept


async def delete_copies(db: Connection, promise: Promising, before: datetime) -> int:
    """Delete some copies of other servers' pictures that were not used since a time. Return the number of files."""
    names = await remote_files.delete_unused(db, before, CLEANED_AT_ONCE)
    await _remove_files(db, promise, names)
    return len(names)


async def apply_budget(db: Connection, promise: Promising) -> int:
    """Delete some files that could be fetched again, if all of them exceed the budget. Return the number of files.

    The cards that lose their pictures are read again.
    """
    excess = await media_budget.total(db) - await budget(db)
    if excess <= 0:
        return 0
    evicted = await media_budget.evict(db, excess, CLEANED_AT_ONCE)
    await _remove_files(db, promise, evicted.files)
    await promise(db, [card_changed(id) for id in evicted.cards])
    return len(evicted.files)


async def budget(db: Connection) -> int:
    """Return the number of bytes that files may take that could be fetched again."""
    changed = await changed_settings.find_media_budget(db)
    return BUDGET if changed is None else changed


async def _remove_files(db: Connection, promise: Promising, names: Sequence[str]) -> None:
    if names:
        await promise(db, [files_unused(names)])
