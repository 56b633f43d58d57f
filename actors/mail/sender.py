"""The post office: sends the mails that transactions have promised, until they are gone.

A promise names the letter and the account, never the address, nor a secret: a letter is written from the rows as they
are when it is sent. A link's secret is drawn anew for every try and only its hash is stored, so that a mail which
arrived although nobody knew has a good link too. A mail may therefore come twice, never not at all, short of an address
that is refused for good or a mail server that takes nothing for two days.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import trio

from ...storage import outbox, registration, users
from ...storage.engine.database import Database, Doubtful, Unavailable
from ...storage.outbox import DueEffect
from ...storage.registration import Confirmation
from ...storage.secrets import hash_of
from ...storage.users import User
from ..effects.mail import CONFIRMATION, SendMail
from ..kernel import Clock, Record
from ..kernel.errors import describe
from ..outbox import PATIENCE
from ..rules.mailboxes import is_mailbox
from .templates import Letter, Sender, text_of

LOOK_AGAIN = 5.0  # seconds between two looks for promised mails, without being woken
BATCH = 32
LINK_LASTS = timedelta(days=2)
GIVEN_UP_AFTER = timedelta(days=2)


class NotSent(Exception):
    """The letter could not be handed over now."""


class Undeliverable(Exception):
    """The letter's receiver does not exist; trying again is of no use."""


Carrier = Callable[[Letter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Letterhead:
    """What all letters of a server share."""

    sender: Sender
    base_url: str


class MailSender:
    """One for each process of the server. Without a carrier letters wait in the outbox for one."""

    def __init__(
        self, database: Database, clock: Clock, record: Record, head: Letterhead, carrier: Carrier | None,
        *, secret: Callable[[], str],
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._record = record
        self._head = head
        self._carrier = carrier
        self._secret = secret
        self._woken = trio.Event()
        self.sent = 0

    def wake(self) -> None:
        """There is a letter."""
        self._woken.set()

    def inspect(self) -> dict[str, object]:
        """What an operator sees."""
        return {"sent": self.sent}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Send what there is, until `stopping`; what is under way then has the child's grace to arrive."""
        task_status.started()
        if self._carrier is None:
            await stopping.wait()
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wake_when, stopping)
            while not stopping.is_set():
                self._woken = trio.Event()
                if not await self._round(self._carrier):
                    with trio.move_on_after(LOOK_AGAIN):
                        await self._woken.wait()

    async def _wake_when(self, stopping: trio.Event) -> None:
        await stopping.wait()
        self.wake()

    async def _round(self, carrier: Carrier) -> bool:
        """Try all that are due; whether there may be more."""
        try:
            due = await self._database.read(outbox.due, self._clock.now(), BATCH, (), ("mail",))
        except (Unavailable, Doubtful) as error:
            self._wait_for_storage(error)
            return False
        before = self.sent
        async with trio.open_nursery() as nursery:
            for effect in due:
                nursery.start_soon(self._deliver, effect, carrier)
        return len(due) == BATCH and self.sent > before

    async def _deliver(self, effect: DueEffect, carrier: Carrier) -> None:
        try:
            if await self._carry_out(effect, carrier):
                await self._database.transact(outbox.delete_many, [effect.id])
                self.sent += 1
        except (Unavailable, Doubtful) as error:
            self._wait_for_storage(error)

    def _wait_for_storage(self, error: Exception) -> None:
        self._record("storage.lost", error=describe(error), decision="mail waits")

    async def _carry_out(self, effect: DueEffect, carrier: Carrier) -> bool:
        """One try; whether the promise is kept, or will never be."""
        try:
            letter = await self._letter(effect)
            if letter is not None:
                await carrier(letter)
        except (Unavailable, Doubtful):
            raise
        except Undeliverable as error:
            self._fail(effect, error)
        except Exception as error:
            # A failure of one mail must not hold up the others.
            return await self._put_off(effect, error)
        return True

    async def _put_off(self, effect: DueEffect, error: Exception) -> bool:
        if effect.created_at + GIVEN_UP_AFTER <= self._clock.now():
            self._fail(effect, error)
            return True
        patience = PATIENCE[min(effect.attempts, len(PATIENCE) - 1)]
        self._record(
            "outbox.retry", effect=effect.kind, message_id=effect.id, request_id=effect.request_id,
            causes=list(effect.causes), error=describe(error), decision=f"again in {patience} s",
        )  # fmt: skip
        due_at = self._clock.now() + timedelta(seconds=patience)
        await self._database.transact(outbox.fail, effect.id, due_at, describe(error))
        return False

    def _fail(self, effect: DueEffect, error: Exception) -> None:
        self._record(
            "mail.failed",
            message_id=effect.id,
            request_id=effect.request_id,
            error=describe(error),
            decision="given up",
        )

    # Letters --------------------------------------------------------------------------------------------------------

    async def _letter(self, effect: DueEffect) -> Letter | None:
        """The letter as it is to be written now; None when there is nothing left to say."""
        promised = SendMail.of_row(effect.payload)
        user = await self._database.read(users.find_user, promised.account)
        if user is None:
            return None
        if not is_mailbox(user.email):
            raise Undeliverable("the address is none")
        if promised.letter == CONFIRMATION:
            return None if user.confirmed_at else await self._confirmation(effect, user)
        return self._written(effect, user, promised.letter)

    async def _confirmation(self, effect: DueEffect, user: User) -> Letter:
        secret, now = self._secret(), self._clock.now()
        confirmation = Confirmation(hash_of(secret), user.account_id, user.email, now, now + LINK_LASTS)
        await self._database.transact(registration.insert_confirmation, confirmation)
        link = f"{self._head.base_url}/auth/confirmation?confirmation_token={secret}"
        return self._written(effect, user, CONFIRMATION, link=link)

    def _written(self, effect: DueEffect, user: User, kind: str, **more: str) -> Letter:
        head = self._head
        words = {"username": user.username, "server": head.sender.name, "base_url": head.base_url} | more
        subject, body = text_of(kind, user.locale, words)
        domain = head.sender.mailbox.rpartition("@")[2]
        return Letter(f"<{kind}.{effect.id}@{domain}>", head.sender, user.email, subject, body, effect.created_at)
