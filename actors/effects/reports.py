"""Mails to staff about reports."""

from __future__ import annotations

from dataclasses import dataclass

from ..mail.sender import MailSender
from ..promises import Effect, Promise
from .mail import MAIL, undeliverable_is_given_up
from .registry import Attempt, carries_out


@dataclass(frozen=True, slots=True)
class SendReport(Effect):
    """Write to `account`, one of the staff, that there is a report, from the rows as they are then."""

    report: int
    account: int


def report_mail(report_id: int, account_id: int) -> Promise:
    """Promise to send one of the staff a mail about a report."""
    return Promise(SendReport(report_id, account_id), account=account_id)


@carries_out("report_mail", SendReport, MAIL)
async def send_report(sender: MailSender, effect: SendReport, attempt: Attempt) -> None:
    with undeliverable_is_given_up():
        await sender.send_report(effect.report, effect.account, attempt.id, attempt.promised_at)
