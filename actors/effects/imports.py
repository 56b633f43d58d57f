"""Executing imports, a few lines at a time, each batch in a turn of the account that has uploaded the file.

Accounts and posts of other servers that are not known here are looked up first, by a queue of its own, because servers
may be slow or away. Lines wait for its effects, which are rows, so that a crash loses none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Protocol

from ...storage import imports
from ...storage.engine.database import Connection, Database, StorageError
from ..activitypub.vocabulary import host_of
from ..broadcast.broadcast import account_address
from ..kernel import Clock, Command, Refused
from ..promises import Effect, Promise
from .registry import MAIN_QUEUE, Attempt, EffectContext, EffectQueue, Finish, Later, NotTried, Promises, executes

# After so many batches the rest is promised anew, so that a long import does not occupy a worker.
BATCHES = 10
# The pause of an import whose user may not sign in.
LOOK_AGAIN = timedelta(hours=1)

MOST_TRIES = 4  # of a look-up: the first try, and a try after each pause of the queue
LONGEST_GROUP = 240  # characters
UNREADABLE = "The answer of its server can't be used."


class NotReached(Exception):
    """Raised when another try may find an account or a post. The text is the reason, as a sentence."""


class ImportFinder(Protocol):
    """Looks accounts and posts up at their servers (`federation/import_finder.py`)."""

    async def find(self, kind: str, target: str) -> int | str:
        """Return the id of an account or, for bookmarks, of a post; or the reason for a failure, as a sentence.

        Raises NotReached, and NotTried while the breaker of its server stops requests.
        """
        ...


@dataclass(frozen=True, slots=True)
class LookupContext:
    """The context of look-ups."""

    database: Database
    clock: Clock
    outbox: Promises
    finder: ImportFinder


# A group is the host of the look-up.
LOOKUPS: EffectQueue[LookupContext] = EffectQueue(
    "lookups", workers=16, workers_per_group=2, claimed_at_once=4, retry_after=(60, 600, 3600)
)


@dataclass(frozen=True, slots=True)
class ImportSome(Command[bool]):
    """To an account: execute the next lines of an import. The answer is False if none can be executed now."""

    id: int


@dataclass(frozen=True, slots=True)
class RunImport(Effect):
    """Execute an import of `account`."""

    id: int
    account: int


@dataclass(frozen=True, slots=True)
class LookUp(Effect):
    """Look up the account or post that lines of an import of `account` name."""

    id: int
    account: int
    target: str


def import_waits(id: int, account_id: int) -> Promise:
    """Return the promise to execute an import. The lines are read from the rows, so that a crash loses none."""
    return Promise(RunImport(id, account_id), f"import/{id}", account=account_id)


def lookups_of(id: int, account_id: int, targets: Sequence[str]) -> list[Promise]:
    """Return the promises to look up targets of an import, each once. A target is looked up once at a time."""
    return [
        Promise(
            LookUp(id, account_id, target), f"lookup/{id}/{sha256(target.encode()).hexdigest()}",
            account=account_id, group=host_asked(target)[:LONGEST_GROUP],
        )
        for target in dict.fromkeys(targets)
    ]  # fmt: skip


def host_asked(target: str) -> str:
    """Return the host to look a target up at: the host of a web address, or the domain of a handle."""
    return host_of(target) or target.rpartition("@")[2]


@executes("import", RunImport, MAIN_QUEUE)
async def run_import(context: EffectContext, effect: RunImport, attempt: Attempt) -> Finish | None:
    address = account_address(effect.account)
    for _ in range(BATCHES):
        try:
            if not await context.runtime.ask(address, ImportSome(effect.id), origin=attempt.origin):
                return None
        except Refused as refusal:
            raise Later(context.clock.now() + LOOK_AGAIN, refusal.text) from refusal

    async def promise_more(db: Connection) -> None:
        await context.outbox.promise(db, [import_waits(effect.id, effect.account)], attempt.origin)

    return promise_more


@executes("lookup", LookUp, LOOKUPS)
async def look_up(context: LookupContext, effect: LookUp, attempt: Attempt) -> Finish | None:
    """Look up a target. Write the result to the lines that wait for it, and promise the import's next turn."""
    found = await context.database.read(imports.find, effect.id)
    if found is None or not await context.database.read(imports.is_waited_for, effect.id, effect.target):
        return None
    try:
        outcome = await context.finder.find(found.kind, effect.target)
    except (StorageError, NotTried):
        raise
    except Exception as error:
        # Also a document of an unforeseen shape must not keep the import from its end.
        outcome = str(error) if isinstance(error, NotReached) else UNREADABLE
        if attempt.number < MOST_TRIES:
            await context.database.transact(_note_try, context, effect, outcome, attempt)
            raise

    async def finish(db: Connection) -> None:
        await imports.set_found(db, effect.id, effect.target, outcome)
        await context.outbox.promise(db, [import_waits(effect.id, effect.account)], attempt.origin)

    return finish


async def _note_try(db: Connection, context: LookupContext, effect: LookUp, reason: str, attempt: Attempt) -> None:
    """Note a failed try: an import that overwrites may only wait for a try of each line."""
    await imports.note_try(db, effect.id, effect.target, reason)
    await context.outbox.promise(db, [import_waits(effect.id, effect.account)], attempt.origin)
