"""The queue of waiting uploads: video and sound, a row for each. A node processes the uploads that it has received.

Each account with uploads has its own task here, so that a busy actor delays only its own account. The tasks share the
places for films fairly. The cause of a failure decides what follows:

- The file (Refused): the upload fails, with the reason for its owner.
- The machine (a full disk, no PostgreSQL): the upload waits until it succeeds. This does not count as a try.
- Unclear (its process was killed, took too long, or had a bug): four tries with growing pauses. A try is counted before
  it begins, so that an upload that takes the whole machine down is not tried at every start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import count

import trio

from ...storage import media
from ...storage.engine.database import Connection, Database, Doubtful, StorageError, Unavailable
from ...storage.engine.faults import machine_fault
from ...storage.files import Folder
from ...storage.media import Media, ProcessedMedia
from ..commands.media import FinishMedia
from ..kernel import Address, Clock, Crashed, NotAnswered, Record, Runtime
from ..kernel import Refused as NoLongerWanted
from ..kernel.errors import describe, place
from .jobs import UNVERIFIED, FileRefused
from .places import Places
from .process import ProcessingFailed

FILMS_AT_ONCE = 2  # so that a film that takes the full half hour does not delay all others
PAUSES = (10.0, 60.0, 600.0)  # seconds after the first, second, third try
MOST_TRIES = len(PAUSES) + 1
MACHINE_PAUSES = (2.0, 5.0, 15.0, 60.0)  # seconds until the machine is tried again
ASK_AGAIN = (1.0, 5.0, 15.0, 60.0)  # seconds until an account that did not answer is asked again
MOST_CRASHES = 3  # of an account's actor on a result
CUT_SHORT = "the server ended during each try"
NOT_STORED = "the result could not be stored"
LOOK_AGAIN = 60.0  # seconds between two checks for work, without being woken
MOST_ACCOUNTS = 1000  # accounts that are served at the same time
GIVE_BACK = 1.0  # seconds that stopping waits for the database to uncount a try


class Queue:
    """Processes waiting uploads. `make` makes the files of an upload, in a folder named by the key."""

    def __init__(
        self, database: Database, runtime: Runtime, clock: Clock, record: Record, folder: Folder,
        make: Callable[[Media, str], Awaitable[ProcessedMedia]], key: Callable[[], str],
    ) -> None:  # fmt: skip
        self.places = Places(FILMS_AT_ONCE)
        self._database = database
        self._runtime = runtime
        self._clock = clock
        self._record = record
        self._folder = folder
        self._make = make
        self._key = key
        self._accounts: set[int] = set()  # accounts that have a task
        self._woken = trio.Event()
        self._wakes = 0
        self._changed: dict[int, trio.Event] = {}  # by attachment, for the requests that wait for its result
        # attachments whose last counted try does not count, because the machine was the cause
        self._counted: set[int] = set()

    def wake(self) -> None:
        """Look for waiting uploads at once, because an upload was stored."""
        self._wakes += 1
        self._woken.set()

    async def finished(self, id: int, patience: float) -> None:
        """Return when an attachment is done, has failed, was deferred or is gone, and after `patience` seconds."""
        changed = self._changed.setdefault(id, trio.Event())
        self.wake()
        found = await self._database.read(media.find, id)
        if found is not None and found.state == "waiting":
            with trio.move_on_after(patience):
                await changed.wait()
        self._changed.pop(id, None)

    async def run(self) -> None:
        """Find accounts with waiting uploads and start a task for each, without end."""
        async with trio.open_nursery() as nursery:
            while True:
                self._woken = trio.Event()
                pause = await self._look(nursery)
                with trio.move_on_after(pause):
                    await self._woken.wait()

    async def _look(self, nursery: trio.Nursery) -> float:
        """Start tasks. Return the seconds until the next check."""
        now = self._clock.now()
        try:
            accounts, retry_at = await self._database.read(_find_waiting, self._folder.node, now, list(self._accounts))
        except (Unavailable, Doubtful):
            return MACHINE_PAUSES[0]  # the lost database is logged elsewhere
        for account_id in accounts[: MOST_ACCOUNTS - len(self._accounts)]:
            self._accounts.add(account_id)
            nursery.start_soon(self._work_for, account_id)
        return LOOK_AGAIN if retry_at is None else min(LOOK_AGAIN, max(0.0, (retry_at - now).total_seconds()))

    async def _work_for(self, account_id: int) -> None:
        """Process the waiting uploads of an account, the oldest first."""
        faults = 0  # failures of the machine in a row
        try:
            while True:
                # Read before the rows: an upload that is stored meanwhile raises the number, and the rows are read
                # again.
                wakes = self._wakes
                try:
                    medium = await self._database.read(media.due, self._folder.node, account_id, self._clock.now())
                    if medium is None and wakes == self._wakes:
                        return
                    if medium is not None:
                        await self._process(medium)
                    faults = 0
                except (StorageError, OSError) as error:
                    await self._wait_for_the_machine(error, faults)
                    faults += 1
        finally:
            self._accounts.discard(account_id)
            if len(self._accounts) == MOST_ACCOUNTS - 1:
                self.wake()

    async def _process(self, medium: Media) -> None:
        """Try once. Raises StorageError and OSError when the machine is the cause."""
        key = self._key()
        try:
            result = await self._try(medium, key)
        except (StorageError, OSError):
            await self._clear(key)
            self._wake_requests(medium.id)
            raise
        # Files that were made but may not be stored are left to the cleaning, which asks the rows.
        if result is None or await self._store(medium, result):
            await self._clear(key)
        self._wake_requests(medium.id)

    async def _clear(self, key: str) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._folder.clear, key)

    async def _try(self, medium: Media, key: str) -> FinishMedia | None:
        """Return the result to store. None if there is none yet, or the upload was deleted."""
        async with self.places.take(medium.account_id):
            tries = await self._count_try(medium)
            if tries is None:
                self._counted.discard(medium.id)
                return None
            if tries > MOST_TRIES:
                return self._give_up(medium, ProcessingFailed(CUT_SHORT, public=True), tries - 1)
            try:
                made = await self._make(medium, key)
            except FileRefused as refusal:
                return FinishMedia(medium.id, None, None if str(refusal) == UNVERIFIED else str(refusal))
            except trio.Cancelled:
                await self._give_back(medium)
                raise
            except Exception as error:
                if machine_fault(error):
                    raise
                failure = error
            else:
                return FinishMedia(medium.id, made)
        self._counted.discard(medium.id)
        return await self._defer(medium, failure, tries)

    async def _count_try(self, medium: Media) -> int | None:
        """Return the number of this try. None if the attachment is gone."""
        if medium.id in self._counted:
            found = await self._database.read(media.find, medium.id)
            return None if found is None or found.state != "waiting" else found.tries
        # Before the work and not after it, so that a process that is killed with its server counts as a try.
        tries = await self._database.transact(media.count_try, medium.id)
        self._counted.add(medium.id)
        return tries

    async def _give_back(self, medium: Media) -> None:
        """Uncount the try, because the server stops in order."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + GIVE_BACK):
            try:
                await self._database.transact(media.give_try_back, medium.id)
            except StorageError:
                return  # the try stays counted

    async def _defer(self, medium: Media, error: Exception, tries: int) -> FinishMedia | None:
        """Try again later, or give up with the reason of the last try."""
        if tries >= MOST_TRIES:
            return self._give_up(medium, error, tries)
        pause = PAUSES[tries - 1]
        decision = f"try {tries + 1} of {MOST_TRIES} in {pause:g} s"
        self._record("media.retry", **_facts(medium, error), decision=decision)
        await self._database.transact(media.put_off, medium.id, self._clock.now() + timedelta(seconds=pause))
        self.wake()
        return None

    def _give_up(self, medium: Media, error: Exception, tries: int) -> FinishMedia:
        self._record("media.failed", **_facts(medium, error), decision=f"given up after {tries} tries")
        return FinishMedia(medium.id, None, _for_owners(error))

    async def _wait_for_the_machine(self, error: Exception, faults: int) -> None:
        """Wait before the next try.

        All uploads that wait for the same cause write the same record: the log folds them.
        """
        pause = MACHINE_PAUSES[min(faults, len(MACHINE_PAUSES) - 1)]
        cause = machine_fault(error) or describe(error)
        self._record("media.retry", message="video and sound", error=cause, decision=f"again in {pause:g} s")
        await trio.sleep(pause)

    async def _store(self, medium: Media, result: FinishMedia) -> bool:
        """Have the owner's account store a result, in order with its other changes. True if it did.

        Asks until the account answers, so that no work is repeated because an account is busy or in quarantine. A
        result that crashes the account again and again is replaced by a failure.
        """
        crashes, message = 0, result
        for failures in count():
            try:
                await self._runtime.ask(_owner(medium), message)
            except NoLongerWanted:
                break
            except (NotAnswered, Unavailable, Doubtful) as error:
                crashes += isinstance(error, Crashed)
                if crashes == MOST_CRASHES:
                    message = FinishMedia(medium.id, None, NOT_STORED)
                await self._wait_for_the_owner(medium, error, failures)
            else:
                break
        self._counted.discard(medium.id)
        await trio.to_thread.run_sync(self._folder.forget, medium.id)
        return message is result

    async def _wait_for_the_owner(self, medium: Media, error: Exception, failures: int) -> None:
        pause = ASK_AGAIN[min(failures, len(ASK_AGAIN) - 1)]
        cause = machine_fault(error) or describe(error)
        self._record("media.retry", actor=str(_owner(medium)), error=cause, decision=f"asked again in {pause:g} s")
        await trio.sleep(pause)

    def _wake_requests(self, id: int) -> None:
        """Wake the requests that wait for the result of an attachment."""
        if (event := self._changed.pop(id, None)) is not None:
            event.set()


def _owner(medium: Media) -> Address:
    return Address("account", str(medium.account_id))


def _facts(medium: Media, error: Exception) -> dict[str, object]:
    """Return the log's facts about a failure. A process that gave no result has no place in the code."""
    broken = isinstance(error, ProcessingFailed)
    return {
        "actor": str(_owner(medium)), "message": f"{medium.type} {medium.id}",
        "error": str(error) if broken else describe(error), "place": None if broken else place(error),
    }  # fmt: skip


def _for_owners(error: Exception) -> str:
    """Return the reason for the owner, without details of the server."""
    return (
        str(error) if isinstance(error, ProcessingFailed) and error.public else "the server could not process this file"
    )


async def _find_waiting(db: Connection, node: str, now: datetime, busy: list[int]) -> tuple[list[int], datetime | None]:
    """Return the accounts with uploads that the node can process now, and when its next retry is due."""
    return await media.accounts_waiting(db, node, now, busy, MOST_ACCOUNTS), await media.next_retry(db, node, now)
