"""Staff: the people who act for the server, by the API or at the command line, and the record of their acts.

An act is a function of a connection and a `StaffAct`. The turn of an account and the command line call the same
function, each in a transaction of its own. What the act promises is then told by the relay of the running server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..storage import audit_log, moderation, outbox
from ..storage.audit_log import AuditEntry
from ..storage.engine.database import Connection
from ..storage.moderation import ModeratedRow
from .account import AccountActor, AccountChange
from .effects.registry import Promise, promises_with
from .facts import Fact
from .kernel import Address, Ids, Refused
from .outbox import new_effect
from .refusals import NOT_ALLOWED
from .rules.roles import Permission, may, outranks

P = ParamSpec("P")
R = TypeVar("R")

# Without an owner, roles could be given at the command line alone.
LAST_OWNER = Refused(403, "This is the last owner of the server, who must stay able to sign in")


@dataclass(frozen=True, slots=True)
class Staff:
    """A person who acts for the server. `account_id` is None for the command line, which may do everything."""

    account_id: int | None
    name: str


COMMAND_LINE = Staff(None, "command line")

NO_ACTOR = Address("account", "0")  # in place of an actor in promises: none of those of acts is one of its own


@dataclass(frozen=True, slots=True)
class Target:
    """The object of an act: its kind, such as `account` or `report`, its id and its name."""

    type: str
    id: int | None
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class StaffAct:
    """The act of one of the staff, in a transaction."""

    staff: Staff
    now: datetime
    next_id: Callable[[], int]
    promise: Callable[[Connection, Sequence[Promise]], Awaitable[None]]
    publish: Callable[[Connection, Sequence[Fact]], Awaitable[None]]

    async def may(self, db: Connection, permission: Permission) -> bool:
        """True if the role allows it, by its row: a token may have been read before the role was taken away."""
        return self.staff.account_id is None or may(await self._role(db), permission)

    async def may_act_on(self, db: Connection, role: str | None) -> bool:
        """True if the staff's role is higher than the role of the account that the act is done to."""
        if self.staff.account_id is None:
            return True
        own = await self._role(db)
        return own is not None and outranks(own, role)

    async def lock(self, db: Connection, account_id: int) -> ModeratedRow | None:
        """Return the states of an account that the act is done to, locked. None if there is none."""
        return await moderation.lock(db, account_id, self.staff.account_id)

    async def log(self, db: Connection, action: str, target: Target, reason: str = "", **details: object) -> None:
        """Write the act into the audit log."""
        entry = AuditEntry(
            self.next_id(), self.staff.account_id, self.staff.name, action, target.type, target.id, target.name,
            self.now, reason, details,
        )  # fmt: skip
        await audit_log.insert(db, entry)

    async def _role(self, db: Connection) -> str | None:
        return None if self.staff.account_id is None else await moderation.role_of(db, self.staff.account_id)


def needs(
    permission: Permission,
) -> Callable[
    [Callable[Concatenate[Connection, StaffAct, P], Awaitable[R]]],
    Callable[Concatenate[Connection, StaffAct, P], Coroutine[object, object, R | Refused]],
]:
    """Have an act refused, in its transaction, if the role does not allow it."""

    def checked(
        do: Callable[Concatenate[Connection, StaffAct, P], Awaitable[R]],
    ) -> Callable[Concatenate[Connection, StaffAct, P], Coroutine[object, object, R | Refused]]:
        @wraps(do)
        async def do_if_allowed(db: Connection, act: StaffAct, *args: P.args, **kwargs: P.kwargs) -> R | Refused:
            return await do(db, act, *args, **kwargs) if await act.may(db, permission) else NOT_ALLOWED

        return do_if_allowed

    return checked


async def act_in_turn(
    account: AccountActor, staff: Staff, do: Callable[Concatenate[Connection, StaffAct, P], Awaitable[R]],
    *args: P.args, **kwargs: P.kwargs,
) -> R:  # fmt: skip
    """Do an act as the change of a turn of an account."""

    @wraps(do)
    async def work(change: AccountChange) -> R:
        async def promise(db: Connection, promises: Sequence[Promise]) -> None:
            change.promise(*promises)

        async def publish(db: Connection, facts: Sequence[Fact]) -> None:
            change.publish(*facts)

        act = StaffAct(staff, change.now, change.ids.next, promise, publish)
        return await do(change.db, act, *args, **kwargs)

    return await account.change(work)


def act_in_rows(staff: Staff, ids: Ids, now: datetime) -> StaffAct:
    """Return an act outside of a turn. The relay of the running server publishes its facts and keeps its promises."""

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        await outbox.insert_many(db, [new_effect(ids.next(), one) for one in promises], now)

    async def publish(db: Connection, facts: Sequence[Fact]) -> None:
        await promise(db, [*promises_with(facts, NO_ACTOR)])

    return StaffAct(staff, now, ids.next, promise, publish)


def act_at_command_line(ids: Ids, now: datetime) -> StaffAct:
    """Return an act of the command line. The server is woken by a notice."""
    return act_in_rows(COMMAND_LINE, ids, now)
