"""Mails to staff about reports."""

from __future__ import annotations

from dataclasses import dataclass

from ..mail.sender import MailSender
from ..promises import Effect, Promise
from .mail import MAIL, undeliverable_is_given_up
from .registry import Attempt, executes


@dataclass(frozen=True, slots=True)
class SendReport(Effect):
    """Write to `account`, a member of the staff, about a report, from the rows at that time."""

    report: int
    account: int


def report_mail(report_id: int, account_id: int) -> Promise:
    """Return the promise to send a member of the staff a mail about a report."""
    return Promise(SendReport(report_id, account_id), account=account_id)


@executes("report_mail", SendReport, MAIL)
async def send_report(sender: MailSender, effect: SendReport, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_report(effect.report, effect.account, attempt.id, attempt.promised_at)
