"""The rules of a sign-up form, and whether sign-ups are open. Only rows show if a name or an address is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...storage.changed_settings import Registrations
from .complaints import Complaint, too_long
from .languages import language_code
from .limits import EMAIL_CHARACTERS, PASSWORD_CHARACTERS, PASSWORD_CHARACTERS_MIN
from .mailboxes import mailbox_of
from .usernames import USERNAME_CHARACTERS, UsernameError, username_errors

REASON_CHARACTERS = 420

TAKEN = "has already been taken"
BLANK = "can't be blank"

USERNAME_TEXTS: dict[UsernameError, str] = {
    "ERR_BLANK": BLANK,
    "ERR_INVALID": "must contain only letters, numbers and underscores",
    "ERR_TOO_LONG": f"is too long (maximum is {USERNAME_CHARACTERS} characters)",
    "ERR_RESERVED": "is reserved",
}


@dataclass(frozen=True, slots=True)
class SignUpData:
    """The values of a sign-up form."""

    username: str
    email: str
    password: str
    agreement: bool
    locale: str
    reason: str


def complaints(
    form: SignUpData, *, reason_required: bool, reserved: Iterable[str], local_domain: str
) -> Iterator[Complaint]:
    """Return all errors of a form."""
    for code in username_errors(form.username, reserved):
        yield Complaint("username", code, USERNAME_TEXTS[code])
    yield from complaints_about_email(form.email, local_domain)
    yield from complaints_about_password(form.password)
    if not form.agreement:
        yield Complaint("agreement", "ERR_ACCEPTED", "must be accepted")
    if form.locale and language_code(form.locale) is None:
        yield Complaint("locale", "ERR_INCLUSION", "is not included in the list")
    if reason_required and not form.reason.strip():
        yield Complaint("reason", "ERR_BLANK", BLANK)
    if len(form.reason) > REASON_CHARACTERS:
        yield too_long("reason", REASON_CHARACTERS)


def complaints_about_email(email: str, local_domain: str) -> Iterator[Complaint]:
    """Return the errors of an address."""
    if not email.strip():
        yield Complaint("email", "ERR_BLANK", BLANK)
    elif len(email) > EMAIL_CHARACTERS:
        yield too_long("email", EMAIL_CHARACTERS)
    elif mailbox_of(email, local_domain) is None:
        yield Complaint("email", "ERR_INVALID", "is invalid")


def taken(attribute: str) -> Complaint:
    """Return the error that another account has the value."""
    return Complaint(attribute, "ERR_TAKEN", TAKEN)


def blocked() -> Complaint:
    """Return the error that the server takes no addresses of a provider."""
    return Complaint("email", "ERR_BLOCKED", "uses a disallowed e-mail provider")


def unreachable() -> Complaint:
    """Return the error that no mails can be sent to an address."""
    return Complaint("email", "ERR_UNREACHABLE", "does not seem to exist")


def complaints_about_password(password: str) -> Iterator[Complaint]:
    """Return the errors of a new password."""
    if not password.strip():
        yield Complaint("password", "ERR_BLANK", BLANK)
    elif len(password) < PASSWORD_CHARACTERS_MIN:
        text = f"is too short (minimum is {PASSWORD_CHARACTERS_MIN} characters)"
        yield Complaint("password", "ERR_TOO_SHORT", text)
    elif len(password) > PASSWORD_CHARACTERS:
        yield too_long("password", PASSWORD_CHARACTERS)


def effective_registrations(
    changed: Registrations | None, configured: Registrations, *, sends_mail: bool
) -> Registrations:
    """Return who may sign up. Without a mail server, no address can be confirmed."""
    return (changed or configured) if sends_mail else "closed"
