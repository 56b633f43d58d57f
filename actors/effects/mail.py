"""Mails to users: a queue of their own, because a mail server may be slow or away."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from ...storage import outbox
from ...storage.engine.database import Connection
from ...storage.users import User
from ..mail.sender import MailSender, Undeliverable
from ..mail.smtp import AT_ONCE
from ..promises import Effect, Promise
from .registry import Attempt, EffectQueue, GivenUp, executes

MAIL: EffectQueue[MailSender] = EffectQueue("mail", workers=AT_ONCE, look_every=5.0, give_up_after=timedelta(days=2))


@dataclass(frozen=True, slots=True)
class SendMail(Effect):
    """Write a letter to the user of `account`, from the rows at that time, and send it."""

    letter: str
    account: int


@dataclass(frozen=True, slots=True)
class SendNotice(Effect):
    """Send a letter without a link to the address that the user had at the time of the promise.

    So the notice of a change reaches the former address, and the mail about a deletion reaches the former user.
    """

    letter: str
    to: str
    username: str
    locale: str | None = None


def mail(letter: str, account_id: int) -> Promise:
    """Return the promise to send a user a mail."""
    return Promise(SendMail(letter, account_id), _partition(letter, account_id), account=account_id)


def notice(letter: str, user: User) -> Promise:
    """Return the promise to send a notice to the current address of a user."""
    return Promise(SendNotice(letter, user.email, user.username, user.locale), account=user.account_id)


async def forget_mail(db: Connection, letter: str, account_id: int) -> None:
    """Delete the promises of this letter to a user."""
    await outbox.forget(db, _partition(letter, account_id))


@contextmanager
def undeliverable_is_given_up() -> Generator[None]:
    """A context that gives a mail up if its recipient does not exist."""
    try:
        yield
    except Undeliverable as error:
        raise GivenUp(str(error)) from error


@executes("mail", SendMail, MAIL)
async def send_mail(sender: MailSender, effect: SendMail, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send(effect.letter, effect.account, attempt.id, attempt.promised_at)


@executes("notice", SendNotice, MAIL)
async def send_notice(sender: MailSender, effect: SendNotice, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_notice(effect, attempt.id, attempt.promised_at)


def _partition(letter: str, account_id: int) -> str:
    return f"{letter}/{account_id}"
