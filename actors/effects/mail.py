"""Mails to users. They take their time, so that they have a relay of their own: `mail/sender.py`."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import outbox
from ...storage.engine.database import Connection
from .registry import Effect, Promise, kind

# The letters that there are, by the names of their texts.
CONFIRMATION = "confirmation"
APPROVAL = "approval"


@dataclass(frozen=True, slots=True)
class SendMail(Effect):
    """Write a letter to the user of `account` from the rows as they are then, and send it."""

    letter: str
    account: int


kind("mail", SendMail)


def mail(letter: str, account_id: int) -> Promise:
    """Promise to send a user a mail."""
    return Promise(SendMail(letter, account_id), _partition(letter, account_id))


async def forget_mail(db: Connection, letter: str, account_id: int) -> None:
    """Take back what was promised of this letter to a user."""
    await outbox.forget(db, _partition(letter, account_id))


def _partition(letter: str, account_id: int) -> str:
    return f"{letter}/{account_id}"
