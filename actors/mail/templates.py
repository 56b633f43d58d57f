"""Letters: their texts by language, and the mail made of them.

The texts are in `texts/`, a file for each letter and language (`confirmation.de.txt`): the subject in the first line,
an empty line, the body. To add a language, add its files. If a file is missing, English is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "texts"
FALLBACK = "en"
EMPTY_PARAGRAPH = re.compile(r"\n{3,}")  # a placeholder in a line of its own may be empty
# Characters beyond ASCII are encoded: not every mail server on the way takes eight bits (RFC 6152).
SEVEN_BITS = SMTP.clone(cte_type="7bit")
# Characters of a sender's name with its escapes. Python 3.11 breaks a name at the end of a line and drops its quotes,
# so that each comma in it begins another address: a name has to fit in a line.
LONGEST_NAME = 60

# The letters, by the names of their texts.
CONFIRMATION = "confirmation"
APPROVAL = "approval"
PASSWORD_RESET = "password_reset"  # noqa: S105  # the name of a letter
PASSWORD_CHANGED = "password_changed"  # noqa: S105  # the name of a letter
ACCOUNT_DELETED = "account_deleted"
ACCOUNT_MOVED = "account_moved"
EMAIL_CHANGE = "email_change"
EMAIL_CHANGE_ASKED = "email_change_asked"
EMAIL_CHANGED = "email_changed"
TWO_FACTOR_ON = "two_factor_on"
TWO_FACTOR_OFF = "two_factor_off"


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of mails: a mailbox, and the server's name for people."""

    mailbox: str
    name: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to a person. Each try has the same `id`, so that mailboxes can find duplicates."""

    id: str
    sender: Sender
    to: str
    subject: str
    body: str
    written_at: datetime

    def as_mail(self) -> EmailMessage:
        """Return the mail. No value can begin a new header, no matter which characters it contains."""
        mail = EmailMessage(policy=SEVEN_BITS)
        mail["From"] = Address(_short_name(self.sender.name), addr_spec=self.sender.mailbox)
        mail["To"] = Address(addr_spec=self.to)
        mail["Subject"] = _in_one_line(self.subject)
        mail["Date"] = format_datetime(self.written_at)
        mail["Message-ID"] = self.id
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic replies
        mail.set_content(self.body)
        return mail


def text_of(kind: str, locale: str | None, words: Mapping[str, str]) -> tuple[str, str]:
    """Return the subject and body of a letter in the language of a user, or in English."""
    subject, _, body = _template(kind, locale).safe_substitute(words).partition("\n")
    return subject, EMPTY_PARAGRAPH.sub("\n\n", body).lstrip("\n")


def _template(kind: str, locale: str | None) -> Template:
    """Return the template. A regional language such as `pt-BR` falls back to `pt`."""
    named = (locale or "").lower()
    wanted = (named, named.partition("-")[0], FALLBACK)
    return next(_texts()[kind, language] for language in wanted if (kind, language) in _texts())


@cache
def _texts() -> dict[tuple[str, str], Template]:
    found: dict[tuple[str, str], Template] = {}
    for path in FOLDER.glob("*.txt"):
        kind, language, _ = path.name.split(".")
        found[kind, language.lower()] = Template(path.read_text("utf-8"))
    return found


def _short_name(text: str) -> str:
    """Return the beginning of a name that fits in one line of a header."""
    start = _in_one_line(text)[:LONGEST_NAME]
    escapes = sum(sign in '"\\' for sign in start)
    return start[: LONGEST_NAME - escapes].rstrip()


def _in_one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
