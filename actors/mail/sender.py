"""Mails to users: written from the rows as they are when they are sent.

A promised mail names its letter and an account, never the address, nor a secret (`effects/mail.py`). A link's secret is
drawn anew for every try and only its hash is stored. So if a mail arrives and its try seems to have failed, its link
is good too. A mail may come twice. It does not come if its address is refused for good, or if the mail server takes
nothing for two days.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import registration, users
from ...storage.engine.database import Database
from ...storage.registration import Confirmation
from ...storage.secrets import hash_of
from ...storage.users import User
from ..kernel import Clock
from ..rules.mailboxes import is_mailbox
from .templates import CONFIRMATION, Letter, Sender, text_of

LINK_LASTS = timedelta(days=2)


class NotSent(Exception):
    """Raised when a letter could not be delivered now."""


class Undeliverable(Exception):
    """Raised when a letter's receiver does not exist: another try would fail too."""


Carrier = Callable[[Letter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Letterhead:
    """The parts of a letter that all letters of a server share."""

    sender: Sender
    base_url: str


class MailSender:
    """One for each process of a server that has a way to send mails: the `carrier`."""

    def __init__(
        self, database: Database, clock: Clock, head: Letterhead, carrier: Carrier, *, secret: Callable[[], str]
    ) -> None:
        self._database = database
        self._clock = clock
        self._head = head
        self._carrier = carrier
        self._secret = secret

    async def send(self, kind: str, account_id: int, id: int, promised_at: datetime) -> None:
        """Write a letter to the user of an account and send it, unless there is nothing left to say.

        `id` and `promised_at` are the same for each try. Raises NotSent and Undeliverable.
        """
        user = await self._database.read(users.find_user, account_id)
        if user is None or (kind == CONFIRMATION and user.confirmed_at):
            return
        if not is_mailbox(user.email):
            raise Undeliverable("the address is not valid")
        more = {"link": await self._link(user)} if kind == CONFIRMATION else {}
        await self._carrier(self._written(user, kind, id, promised_at, more))

    async def _link(self, user: User) -> str:
        secret, now = self._secret(), self._clock.now()
        confirmation = Confirmation(hash_of(secret), user.account_id, user.email, now, now + LINK_LASTS)
        await self._database.transact(registration.insert_confirmation, confirmation)
        return f"{self._head.base_url}/auth/confirmation?confirmation_token={secret}"

    def _written(self, user: User, kind: str, id: int, at: datetime, more: dict[str, str]) -> Letter:
        head = self._head
        words = {"username": user.username, "server": head.sender.name, "base_url": head.base_url} | more
        subject, body = text_of(kind, user.locale, words)
        domain = head.sender.mailbox.rpartition("@")[2]
        return Letter(f"<{kind}.{id}@{domain}>", head.sender, user.email, subject, body, at)
