"""Mail: whether the mail server accepts mails of this server. A mail is sent only if an address is given."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime

import trio

from ...actors.configuration import MailSettings, Settings, SignUpSettings
from ...actors.mail.sender import NotSent, Undeliverable
from ...actors.mail.smtp import Smtp, Step, UnusableMailServer, smtp_of
from ...actors.mail.templates import Letter, Sender
from .findings import Examination, Finding

SUBJECT = "mail"
CURES: dict[Step, str] = {
    "connect": "Check smtp_host, smtp_port and smtp_tls, and that no firewall is between.",
    "encrypt": "Check smtp_tls (`tls` for port 465, `starttls` for 587), and the mail server's certificate and name.",
    "log in": "Check smtp_user and smtp_password.",
}
WRONG_CERTIFICATE = (
    "The certificate must have the name in smtp_host, and be of an authority that this machine knows: mend it, set"
    " smtp_host to its name, or name a file with its authority in SSL_CERT_FILE."
)
NO_TLS_AT_FIRST = "This port has no TLS from the start: set smtp_tls to starttls, or smtp_port to 465."
TLS_AT_FIRST = (
    "If this port has TLS from the start, as 465 has, the mail server waits for it: set smtp_tls to tls, or smtp_port"
    " to 587."
)


def check_smtp(examination: Examination) -> Iterator[Finding]:
    """Connect, greet, encrypt and log in, as the server does for each mail."""
    settings = examination.sources.settings
    smtp = smtp_of(settings)
    if smtp is None:
        yield from _without(settings, examination.mail_to)
        return
    where = f"{smtp.host}:{smtp.port}"
    try:
        smtp.try_out()
    except UnusableMailServer as error:
        yield Finding(SUBJECT, "wrong", f"{where} can't be used ({error.step}): {error}", _cure(error, settings))
        return
    yield from _weak(settings)
    yield Finding(SUBJECT, "good", f"{where} takes mails from {settings.mail_sender}")
    if examination.mail_to is not None:
        yield _sent(smtp, settings, examination.mail_to)


def _cure(error: UnusableMailServer, settings: MailSettings) -> str:
    match error.fault:
        case "certificate":
            return WRONG_CERTIFICATE
        case "encryption" if error.step == "connect":
            return NO_TLS_AT_FIRST
        case "silence" if error.step == "connect" and settings.smtp_tls != "tls":
            return TLS_AT_FIRST
        case _:
            return CURES[error.step]


def _without(settings: SignUpSettings, mail_to: str | None) -> Iterator[Finding]:
    if mail_to is not None:
        yield Finding(SUBJECT, "wrong", f"no mail was sent to {mail_to}: there is no smtp_host", "Set smtp_host.")
    if settings.registrations != "closed":
        yield Finding(
            SUBJECT, "wrong",
            f"there is no smtp_host, so sign-ups are closed although registrations is {settings.registrations}",
            "Set smtp_host, or registrations to closed.",
        )  # fmt: skip
    else:
        yield Finding(
            SUBJECT, "note", "no smtp_host is set: no mail is sent, and users can't set forgotten passwords anew"
        )


def _weak(settings: MailSettings) -> Iterator[Finding]:
    if settings.smtp_tls == "none" and settings.smtp_user is not None:
        yield Finding(
            SUBJECT, "wrong", "the password for the mail server is sent without encryption",
            "Set smtp_tls to starttls or tls.",
        )  # fmt: skip


def _sent(smtp: Smtp, settings: Settings, to: str) -> Finding:
    sender = Sender(settings.mail_sender, settings.title)
    identity = f"<doctor-{secrets.token_hex(8)}@{settings.mail_sender.rpartition('@')[2]}>"
    text = f"`troupe doctor` has sent this mail from {settings.base_url}. Mails of this server arrive.\n"
    letter = Letter(identity, sender, to, f"A test from {settings.title}", text, datetime.now(UTC))
    try:
        trio.run(smtp, letter)
    except (Undeliverable, NotSent) as error:
        return Finding(
            SUBJECT, "wrong", f"the mail to {to} was not taken: {error}",
            "Check the address, mail_from, and the mail server's log.",
        )  # fmt: skip
    return Finding(SUBJECT, "good", f"a mail to {to} was taken; look whether it arrives")
