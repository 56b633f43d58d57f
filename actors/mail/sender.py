"""Sends mails to users, written from the rows at the time of sending.

A promised mail names its letter and an account, never the address or a secret (`effects/mail.py`). Mails are tried for
two days: after 1, 5, 30, 120, then every 600 s. Each try makes a new secret for the link and stores only its hash. So
if a mail arrives although its try seemed to fail, its link is valid too. A mail may arrive twice, with the same
`Message-ID`. It is not delivered if its address is refused for good, or if the mail server accepts nothing for two
days. Without the setting `smtp_host` promised mails are deleted after two days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from ...storage import accounts, passwords, registration, reports, strikes, users
from ...storage.engine.database import Connection, Database
from ...storage.secrets import hash_of
from ...storage.strikes import Strike
from ...storage.users import MailedLink, User
from ..kernel import Clock
from ..rules.mailboxes import is_mailbox
from ..rules.markup import one_line, plain
from ..rules.roles import Permission, may
from .templates import CONFIRMATION, EMAIL_CHANGE, PASSWORD_RESET, Letter, Sender, text_of

LINK_LASTS = timedelta(days=2)
# A link that sets a new password gives access to the account: it is valid for a shorter time.
RESET_LASTS = timedelta(hours=6)
# A strike can be appealed as long as its link is valid (`commands/strikes.py`).
APPEAL_LASTS = timedelta(days=20)
MOST_EXCERPT = 200  # characters of a status in a mail


# The result of a try: accepted by the mail server, without an existing receiver, or failed for now.
MailResult = Literal["sent", "undeliverable", "failed"]


class NotSent(Exception):
    """Raised when a letter could not be delivered now."""


class Undeliverable(Exception):
    """Raised when a letter's receiver does not exist: a retry would fail too."""


Carrier = Callable[[Letter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Letterhead:
    """The parts of a letter that all letters of a server share."""

    sender: Sender
    base_url: str


class Notice(Protocol):
    """A letter to a given address, with the name and locale of its user."""

    @property
    def letter(self) -> str: ...
    @property
    def to(self) -> str: ...
    @property
    def username(self) -> str: ...
    @property
    def locale(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Addressee:
    """The user that a letter is written to, and the mailbox that it goes to."""

    mailbox: str
    username: str
    locale: str | None


class MailSender:
    """Writes letters, and sends them by the `carrier`. Each process of a server that can send mails has an instance."""

    def __init__(
        self, database: Database, clock: Clock, head: Letterhead, carrier: Carrier, *, secret: Callable[[], str]
    ) -> None:
        self._database = database
        self._clock = clock
        self._head = head
        self._carrier = carrier
        self._secret = secret
        self.results = Counter[MailResult]()

    async def send(self, kind: str, account_id: int, id: int, promised_at: datetime) -> None:
        """Write a letter to the user of an account and send it, unless it is not needed any more.

        `id` and `promised_at` are the same for each try. Raises NotSent and Undeliverable.
        """
        user = await self._database.read(users.find_user, account_id)
        to = None if user is None else RECEIVERS.get(kind, _address)(user)
        if user is None or to is None:
            return
        more = {"link": await self._link(LINKS[kind], user, to)} if kind in LINKS else {}
        await self._carry(Addressee(to, user.username, user.locale), kind, id, promised_at, more)

    async def send_notice(self, notice: Notice, id: int, promised_at: datetime) -> None:
        """Send a letter whose receiver is known. Raises NotSent and Undeliverable."""
        receiver = Addressee(notice.to, notice.username, notice.locale)
        await self._carry(receiver, notice.letter, id, promised_at, {})

    async def send_strike(self, strike_id: int, account_id: int, id: int, promised_at: datetime) -> None:
        """Send a user the decision of staff and its reason, with a link to appeal. Raises NotSent and Undeliverable."""
        user = await self._database.read(users.find_user, account_id)
        found = await self._database.read(strikes.find, strike_id)
        if user is None or found is None:
            return
        secret, now = self._secret(), self._clock.now()
        await self._database.transact(strikes.insert_link, hash_of(secret), strike_id, now, now + APPEAL_LASTS)
        words = {
            "text": found.text,
            "posts": await self._excerpts(found),
            "link": f"{self._head.base_url}/disputes/strike?token={secret}",
        }
        to = Addressee(user.email, user.username, user.locale)
        await self._carry(to, f"strike_{found.action}", id, promised_at, words)

    async def send_appeal(self, strike_id: int, account_id: int, id: int, promised_at: datetime) -> None:
        """Send the appeal of a user to a member of staff, or the decision about it to the user.

        Raises NotSent and Undeliverable.
        """
        user = await self._database.read(users.find_user, account_id)
        found = await self._database.read(strikes.find, strike_id)
        if user is None or found is None:
            return
        appealing = await self._database.read(users.find_user, found.target_account_id)
        words = {
            "appealing": "" if appealing is None else appealing.username,
            "appeal": str(found.appeal_id),
            "text": found.appeal_text or "",
        }
        kind = "appeal"
        if account_id == found.target_account_id:
            kind = "appeal_approved" if found.appeal_approved_at is not None else "appeal_rejected"
        elif not _is_staff_with(user, Permission.MANAGE_APPEALS):
            return
        to = Addressee(user.email, user.username, user.locale)
        await self._carry(to, kind, id, promised_at, words)

    async def send_report(self, report_id: int, account_id: int, id: int, promised_at: datetime) -> None:
        """Send a report to a member of staff, unless it is resolved. Raises NotSent and Undeliverable."""
        user = await self._database.read(users.find_user, account_id)
        report = await self._database.read(reports.find, report_id)
        if user is None or report is None or report.action_taken_at is not None:
            return
        if not _is_staff_with(user, Permission.MANAGE_REPORTS):
            return
        found = await self._database.read(accounts.find_many, [report.target_account_id])
        words = {
            "target": found[report.target_account_id].acct,
            "category": report.category,
            "posts": str(len(report.status_ids)),
            "report": str(report.id),
        }
        await self._carry(Addressee(user.email, user.username, user.locale), "report", id, promised_at, words)

    async def _excerpts(self, strike: Strike) -> str:
        """Return the beginning of each status that a strike is about, also of removed statuses, a line each."""
        found = await self._database.read(strikes.texts, strike.status_ids or ())
        return "\n".join(f"> {_beginning(warning or plain(content))}" for warning, content in found)

    async def _link(self, link: Link, user: User, to: str) -> str:
        secret, now = self._secret(), self._clock.now()
        await self._database.transact(link.store, hash_of(secret), user.account_id, to, now)
        return f"{self._head.base_url}{link.path}{secret}"

    async def _carry(self, to: Addressee, kind: str, id: int, at: datetime, more: dict[str, str]) -> None:
        result: MailResult = "failed"
        try:
            await self._carrier(self._letter(to, kind, id, at, more))
            result = "sent"
        except Undeliverable:
            result = "undeliverable"
            raise
        finally:
            self.results[result] += 1

    def _letter(self, to: Addressee, kind: str, id: int, at: datetime, more: dict[str, str]) -> Letter:
        """Write a letter. Raises Undeliverable."""
        if not is_mailbox(to.mailbox):
            raise Undeliverable("the address is not valid")
        head = self._head
        words = {"username": to.username, "server": head.sender.name, "base_url": head.base_url} | more
        subject, body = text_of(kind, to.locale, words)
        domain = head.sender.mailbox.rpartition("@")[2]
        return Letter(f"<{kind}.{id}@{domain}>", head.sender, to.mailbox, subject, body, at)


def _is_staff_with(user: User, permission: Permission) -> bool:
    """True if the user has a permission of staff. They may have lost it since the promise."""
    return may(user.role, permission) and not user.barred


def _beginning(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MOST_EXCERPT else f"{line[: MOST_EXCERPT - 1].rstrip()}…"


# Links ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """The path of a letter's link, to which the secret is added, and the function that stores the secret's hash."""

    path: str
    store: Callable[[Connection, bytes, int, str, datetime], Awaitable[None]]


async def _store_confirmation(db: Connection, token_hash: bytes, account_id: int, to: str, now: datetime) -> None:
    await registration.insert_confirmation(db, MailedLink(token_hash, account_id, to, now, now + LINK_LASTS))


async def _store_reset(db: Connection, token_hash: bytes, account_id: int, to: str, now: datetime) -> None:
    await passwords.insert_reset(db, MailedLink(token_hash, account_id, to, now, now + RESET_LASTS))


LINKS: dict[str, Link] = {
    CONFIRMATION: Link("/auth/confirmation?confirmation_token=", _store_confirmation),
    EMAIL_CHANGE: Link("/auth/email?token=", _store_confirmation),
    PASSWORD_RESET: Link("/auth/password/edit?reset_password_token=", _store_reset),
}


def _address(user: User) -> str | None:
    return user.email


def _unconfirmed_address(user: User) -> str | None:
    return user.email if user.confirmed_at is None else None


def _new_address(user: User) -> str | None:
    return user.new_email


# The receivers of letters that are not always sent, or not to the user's address.
RECEIVERS: dict[str, Callable[[User], str | None]] = {
    CONFIRMATION: _unconfirmed_address,
    EMAIL_CHANGE: _new_address,
}
