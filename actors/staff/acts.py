"""Acts of staff, by the API, the pages for staff or the command line, and the audit log of these acts.

An act is one function of a `StaffAct` and of the command that asks for it:

    @act(ResolveReport, Permission.MANAGE_REPORTS)
    async def resolve(act: StaffAct, message: ResolveReport) -> Report | Refused: ...

The function writes rows through `act.db`, names the consequences (`act.publish(...)`, `act.promise(...)`) as the
function of a change does (`change.py`), and writes the audit log (`act.log(...)`). A refusal rolls all of it back.

The decorator registers the turn of the act. It checks the permission against the rows, because a token may be older
than a demotion. The API and the pages for staff ask this turn. With `act` the turn belongs to the actor of the member
of staff. With `act_on_account` it belongs to the actor of the target account: the row of the account is locked first,
the rank is checked too, and the function gets the row. `needs` and `needs_rank` only check, for acts without a command
of their own and for turns that do more.

The command line calls the function with the same command, `resolve(here.act, ResolveReport(here.staff, id))`, in a
transaction of its own, with or without a running server. The end of the transaction writes the promises, also those of
the facts, and the relays of the server execute them. Pages for staff run acts in this way too if they must not wait for
an actor (`run_act`).

The states of an account (disabled, silenced, sensitive, suspended) are columns of its row, and every query and cache
reads them there. The fact `ModeratedAccount` drops the tokens from the cache, closes the streams, and makes each
timeline that may show the account read its rows again. `AccountActor.guarded` refuses the commands of a disabled user,
also commands that were sent before; timers, effects and staff are accepted.

Locks of rows order acts, not actors: two members of staff have two actors, and the command line has none. The row of
the object of an act is locked before it is read. Accounts are locked first, in the order of their ids. The account of
the member of staff is locked with them, so that its role stays until the end of the transaction.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from urllib.parse import urlsplit

from ...storage import audit_log, moderation, outbox
from ...storage.audit_log import AuditEntry
from ...storage.engine import notices
from ...storage.engine.database import Connection, Database
from ...storage.moderation import ModeratedRow
from ..account import AccountActor, AccountChange
from ..change import Transaction
from ..context import ActorContext
from ..facts.fact import promises_with
from ..facts.server import ChangedRows
from ..kernel import Address, Ids, Message, Refused, turn
from ..memory.row_loader import RowLoader
from ..outbox.outbox import new_effect
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission, may, outranks

P = ParamSpec("P")
R = TypeVar("R")
M_co = TypeVar("M_co", covariant=True)

# Without an owner, only the command line could give roles.
LAST_OWNER = Refused(403, "This is the last owner of the server, who must stay able to sign in")


@dataclass(frozen=True, slots=True)
class Staff:
    """A person who acts for the server. `account_id` is None for the command line, which may do everything."""

    account_id: int | None
    name: str


COMMAND_LINE = Staff(None, "command line")

NO_ACTOR = Address("account", "0")  # the publisher of acts outside of turns; the promises of their facts ignore it


@dataclass(frozen=True, slots=True)
class OwnServer:
    """This server: the start of its links, and True if it is `limited` to allowed domains."""

    base_url: str
    limited: bool

    @property
    def domain(self) -> str:
        """The domain in its links, with its port."""
        return urlsplit(self.base_url).netloc


@dataclass(frozen=True, slots=True)
class Target:
    """The object of an act: its kind, such as `account` or `report`, its id and its name."""

    type: str
    id: int | None
    name: str


class StaffAct(Transaction):
    """The transaction of an act of staff."""

    __slots__ = ("server", "staff")

    def __init__(self, db: Connection, staff: Staff, ids: Ids, now: datetime, server: OwnServer) -> None:
        super().__init__(db, ids, now)
        self.staff = staff
        self.server = server

    @classmethod
    def of(cls, context: ActorContext, db: Connection, staff: Staff) -> StaffAct:
        """Return an act in a transaction of a running server."""
        server = OwnServer(context.base_url, context.blocks.limited)
        return cls(db, staff, context.ids, context.clock.now(), server)

    async def may(self, permission: Permission) -> bool:
        """True if the role allows it. The role is read from its row: a cached token may have an older role."""
        return self.staff.account_id is None or may(await self._role(), permission)

    async def may_act_on(self, role: str | None) -> bool:
        """True if the role of the member of staff is higher than the role of the target account."""
        if self.staff.account_id is None:
            return True
        own = await self._role()
        return own is not None and outranks(own, role)

    async def log(self, action: str, target: Target, reason: str = "", **details: object) -> None:
        """Write the act into the audit log."""
        entry = AuditEntry(
            self.ids.next(), self.staff.account_id, self.staff.name, action, target.type, target.id, target.name,
            self.now, reason, details,
        )  # fmt: skip
        await audit_log.insert(self.db, entry)

    async def reload(self, rows: str) -> None:
        """Have all servers read rows again that they hold in memory. `rows` is the name of the notice.

        A fact is applied before the act is answered. The notice, which is part of the commit, is for all other cases:
        acts outside of turns, and commits whose outcome is not known.
        """
        await notices.send(self.db, rows)
        self.publish(ChangedRows(rows))

    async def write_promises(self) -> None:
        """Write the promises into the outbox, also those of the facts, at the end of a transaction outside of turns.

        The relays of the running server are woken and execute them.
        """
        promises = [*promises_with(self.facts, NO_ACTOR), *self.promises]
        if promises:
            await outbox.insert_many(self.db, [new_effect(self.ids.next(), promise) for promise in promises], self.now)
            await notices.send(self.db, "outbox")

    async def _role(self) -> str | None:
        return None if self.staff.account_id is None else await moderation.role_of(self.db, self.staff.account_id)


async def act_in_turn(
    account: AccountActor, staff: Staff, do: Callable[Concatenate[StaffAct, P], Awaitable[R]],
    *args: P.args, **kwargs: P.kwargs,
) -> R:  # fmt: skip
    """Do an act as the change of a turn of an account."""

    @wraps(do)
    async def work(change: AccountChange) -> R:
        act = StaffAct.of(change.context, change.db, staff)
        done = await do(act, *args, **kwargs)
        change.publish(*act.facts)
        change.promise(*act.promises)
        return done

    return await account.change(work)


async def run_act(
    database: Database, begin: Callable[[Connection], StaffAct],
    do: Callable[Concatenate[StaffAct, P], Awaitable[R | Refused]], *args: P.args, **kwargs: P.kwargs,
) -> R:  # fmt: skip
    """Do an act in a transaction of its own, outside of turns. Raises Refused."""

    async def work(db: Connection) -> R:
        act = begin(db)
        done = await do(act, *args, **kwargs)
        if isinstance(done, Refused):
            raise done.with_traceback(None)
        await act.write_promises()
        return done

    return await database.transact(work)


# How acts are declared ------------------------------------------------------------------------------------------------


def needs(
    permission: Permission,
) -> Callable[
    [Callable[Concatenate[StaffAct, P], Awaitable[R]]],
    Callable[Concatenate[StaffAct, P], Coroutine[object, object, R | Refused]],
]:
    """Refuse an act, in its transaction, if the role does not allow it. For acts without a command."""

    def checked(
        do: Callable[Concatenate[StaffAct, P], Awaitable[R]],
    ) -> Callable[Concatenate[StaffAct, P], Coroutine[object, object, R | Refused]]:
        @wraps(do)
        async def do_if_allowed(act: StaffAct, *args: P.args, **kwargs: P.kwargs) -> R | Refused:
            return await do(act, *args, **kwargs) if await act.may(permission) else NOT_ALLOWED

        return do_if_allowed

    return checked


def needs_rank(
    permission: Permission,
) -> Callable[
    [Callable[Concatenate[StaffAct, ModeratedRow, P], Awaitable[R]]],
    Callable[Concatenate[StaffAct, int, P], Coroutine[object, object, R | Refused]],
]:
    """Refuse an act on an account if the role does not allow it, or is not higher than the role of the account.

    The account is locked first. The act is called with the id of the account, and its function gets the row.
    """

    def checked(
        do: Callable[Concatenate[StaffAct, ModeratedRow, P], Awaitable[R]],
    ) -> Callable[Concatenate[StaffAct, int, P], Coroutine[object, object, R | Refused]]:
        @wraps(do)
        async def do_if_allowed(act: StaffAct, account_id: int, *args: P.args, **kwargs: P.kwargs) -> R | Refused:
            target = await moderation.lock(act.db, account_id, act.staff.account_id)
            if target is None:
                return NOT_FOUND
            if not await act.may(permission) or not await act.may_act_on(target.role):
                return NOT_ALLOWED
            return await do(act, target, *args, **kwargs)

        return do_if_allowed

    return checked


# The caches that acts change.


def blocks_in(context: ActorContext) -> RowLoader:
    return context.blocks


def emojis_in(context: ActorContext) -> RowLoader:
    return context.custom_emojis


class act(Generic[M_co]):
    """Register an act with its command, and refuse it if the role does not allow it.

    The turn belongs to the account of the member of staff. Without a permission the function checks it itself: after a
    lock that must come first, or by calling another act. `changes` is the cache to be read again afterwards.
    """

    def __init__(
        self,
        message: type[M_co],
        permission: Permission | None,
        changes: Callable[[ActorContext], RowLoader] | None = None,
    ) -> None:
        self._message = message
        self._permission = permission
        self._changes = changes

    def __call__(
        self: act[Message[R]], do: Callable[[StaffAct, M_co], Awaitable[R | Refused]]
    ) -> Callable[[StaffAct, M_co], Awaitable[R | Refused]]:
        checked = do if self._permission is None else needs(self._permission)(do)
        changes = self._changes

        @wraps(do)
        # `Any`: the commands of staff have nothing in common but their field `staff`.
        async def take(account: AccountActor, message: Any) -> R | Refused:
            async with nullcontext() if changes is None else changes(account.context).changing():
                return await act_in_turn(account, message.staff, checked, message)

        turn(AccountActor, self._message)(take)
        return checked


class act_on_account(Generic[M_co]):
    """Register an act on an account with its command. The turn belongs to this account. `needs_rank` checks it."""

    def __init__(self, message: type[M_co], permission: Permission) -> None:
        self._message = message
        self._permission = permission

    def __call__(
        self: act_on_account[Message[R]], do: Callable[[StaffAct, ModeratedRow, M_co], Awaitable[R | Refused]]
    ) -> Callable[[StaffAct, int, M_co], Awaitable[R | Refused]]:
        checked = needs_rank(self._permission)(do)

        @wraps(do)
        # `Any`: as in `act`.
        async def take(account: AccountActor, message: Any) -> R | Refused:
            return await act_in_turn(account, message.staff, checked, account.id, message)

        turn(AccountActor, self._message)(take)
        return checked
