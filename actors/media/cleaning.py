"""Removing unused files and rows: left-overs of a crash, uploads in no status, unused cards and copies of pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta

import trio

from ...storage import media, preview_cards, remote_files
from ...storage.engine.database import Connection, Database, Doubtful, Unavailable
from ...storage.files import COMMANDS, Folder
from ...storage.preview_cards import Swept
from ..effects.files import files_unused
from ..kernel import NOWHERE, Clock, Record
from ..outbox import Outbox
from ..sweeps import counted

EVERY = 3600.0  # seconds
LOOSE_FOR = timedelta(days=1)  # how long an attachment without a status is kept
LEFT_FOR = timedelta(days=1)  # when files of an unfinished upload count as left over; no upload takes this long
CARDS_UNUSED_FOR = timedelta(days=1)  # after they were fetched
COPIES_UNUSED_FOR = timedelta(days=30)  # of other servers' pictures
MOST_COPIES = 10 * 1024**3  # bytes of all of them
CLEANED_AT_ONCE = 500


class Cleaning:
    """Cleans up the left-overs of a crash at start, and everything every hour."""

    def __init__(self, database: Database, clock: Clock, record: Record, outbox: Outbox, folder: Folder) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._outbox = outbox
        self._folder = folder
        self._commands = Folder(folder.root, COMMANDS)
        self._keys: dict[str, Folder] = {}  # of unfinished uploads that are left over, in one of both folders
        self._ids: set[int] = set()  # of attachments whose waiting uploads may be left over

    async def find_left(self) -> None:
        """Note the files of this node that exist before its first upload: a crash left all of them."""
        await self._tidied(self._adopt)
        await self._tidied(self._find, None)

    async def run(self) -> None:
        """Clean every hour, without end."""
        while True:
            await self._tidied(self.settle)
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
        """Note this node's unfinished uploads, with `before` only those not changed since, and old ones of others.

        Young waiting uploads are never left over for sure: another node may be about to store the row of one. The same
        is true of the files of commands, which may run.
        """
        long_ago = self._clock.now() - LEFT_FOR
        for folder, until in ((self._folder, before), (self._commands, long_ago)):
            for key in await trio.to_thread.run_sync(folder.unfinished, until):
                self._keys[key] = folder
        self._ids.update(await trio.to_thread.run_sync(self._folder.uploads_waiting, long_ago))

    async def settle(self) -> None:
        """Remove files of uploads that were never stored."""
        published = {key: await trio.to_thread.run_sync(self._folder.published, key) for key in self._keys}
        names = [name for one in published.values() for name in one]
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
        """Remove files one by one. An error with one file does not affect the others."""
        for name in names:
            try:
                await trio.to_thread.run_sync(self._folder.remove, [name])
                counts["left-over files"] += 1
            except OSError as error:
                self._record("media.retry", message="cleaning", error=error, decision="left at its place")

    async def clean(self) -> None:
        """Delete attachments that were in no status for a day, and cards that no status shows.

        The outbox removes their files, also after a crash.
        """
        with counted(self._report) as counts:
            while gone := await self._database.transact(self._delete_loose, self._clock.now() - LOOSE_FOR):
                counts["attachments in no post"] += gone
                self._outbox.wake()
            after: int | None = 0
            while after is not None:
                swept = await self._database.transact(self._delete_cards, after, self._clock.now() - CARDS_UNUSED_FOR)
                counts["cards in no post"] += swept.count
                after = swept.last_id
                self._outbox.wake()
            while gone := await self._database.transact(self._delete_copies, self._clock.now() - COPIES_UNUSED_FOR):
                counts["copies of pictures"] += gone
                self._outbox.wake()

    async def _delete_loose(self, db: Connection, before: datetime) -> int:
        gone = await media.delete_loose(db, before, CLEANED_AT_ONCE)
        if gone:
            files = [file for medium in gone for file in medium.files]
            await self._outbox.promise(db, [files_unused(files)], NOWHERE)
        return len(gone)

    async def _delete_copies(self, db: Connection, before: datetime) -> int:
        """Delete some copies of other servers' pictures: those long unused, then the oldest of too many."""
        names = await remote_files.delete_unused(db, before, CLEANED_AT_ONCE)
        if not names and (excess := await remote_files.total(db) - MOST_COPIES) > 0:
            names = await remote_files.evict(db, excess, CLEANED_AT_ONCE)
        if names:
            await self._outbox.promise(db, [files_unused(names)], NOWHERE)
        return len(names)

    async def _delete_cards(self, db: Connection, after: int, before: datetime) -> Swept:
        """Delete the unused ones of the next cards."""
        swept = await preview_cards.delete_unused(db, after, before, CLEANED_AT_ONCE)
        if swept.images:
            await self._outbox.promise(db, [files_unused(swept.images)], NOWHERE)
        return swept
