"""Carrying out imports, a few lines at a time, each batch in a turn of the account that has uploaded the file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage.engine.database import Connection
from ..broadcast import account_address
from ..kernel import Message, Refused
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Finish, Later, Promise, carries_out

# After so many batches the next ones are promised anew, so that a long import keeps no lane for itself.
BATCHES = 10
# Until then an import waits whose user may not sign in.
LOOK_AGAIN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ImportSome(Message[bool]):
    """To an account: carry out the next lines of an import. False if none is left."""

    id: int


@dataclass(frozen=True, slots=True)
class RunImport(Effect):
    """Carry out an import of `account`."""

    id: int
    account: int


def import_waits(id: int, account_id: int) -> Promise:
    """Promise to carry out an import. The rows say which lines are left, so that a crash loses none."""
    return Promise(RunImport(id, account_id), f"import/{account_id}", account=account_id)


@carries_out("import", RunImport, ANNOUNCEMENTS)
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
