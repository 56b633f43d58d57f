"""SMTP: a connection for each mail, in a thread, with limits on time and number.

Names and passwords are sent in UTF-8 (RFC 4616). `smtplib` itself can only send ASCII.
"""

from __future__ import annotations

import base64
import hmac
import re
import smtplib
import ssl
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Literal

import trio

from ..configuration import MailSettings
from .sender import NotSent, Undeliverable
from .templates import Letter

Tls = Literal["none", "starttls", "tls"]
Step = Literal["connect", "encrypt", "log in"]
# What a connection fails by: the certificate, encryption that the other side does not expect, or no greeting.
Fault = Literal["certificate", "encryption", "silence"]

AT_ONCE = 4  # connections to the mail server
STEP = 30.0  # seconds that an answer of the mail server may take
WHOLE = 120.0  # seconds that a mail may take
REFUSED_FOR_GOOD = 500
# Refusals of a receiver that are about this server, which its operator can repair: it may not relay, or must log in.
# Many mail servers refuse this server only at the receiver, although they know it since the greeting. 5.7 is policy
# (RFC 3463).
OF_THE_SENDER = re.compile(rb"\b5\.7\.[0-9]|\brelay|\bauthenticat", re.IGNORECASE)
# The answers of a mail server to a login (RFC 4954): continue, logged in, and logged in before.
MORE = 334
LOGGED_IN = (235, 503)


class UnusableMailServer(Exception):
    """Raised when the mail server can't be used. `step` is the step that failed. The text is for the operator alone.

    `fault` is None for faults that have no name in `Fault`.
    """

    def __init__(self, step: Step, cause: Exception) -> None:
        super().__init__(" ".join(str(cause).split()) or type(cause).__name__)
        self.step: Step = step
        self.fault = _fault_of(cause)


def _fault_of(cause: Exception) -> Fault | None:
    match cause:
        case ssl.SSLCertVerificationError():
            return "certificate"
        case ssl.SSLError():
            return "encryption"
        case smtplib.SMTPServerDisconnected():
            return "silence"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Smtp:
    """A mail server and how to connect to it. `name` is this host's name in the greeting."""

    host: str
    port: int
    tls: Tls
    name: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    at_once: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(AT_ONCE), repr=False)

    async def __call__(self, letter: Letter) -> None:
        """Deliver a letter. Raises Undeliverable if its receiver was refused for good, NotSent for all other failures.

        The texts of these errors contain neither addresses nor the mail server's answers.
        """
        try:
            with trio.fail_after(WHOLE):
                # A thread whose time is over cannot be stopped. It counts as a connection until it ends.
                await trio.to_thread.run_sync(self._hand_over, letter, abandon_on_cancel=True, limiter=self.at_once)
        except smtplib.SMTPRecipientsRefused as refusal:
            code, answer = next(iter(refusal.recipients.values()))  # a letter has one receiver
            if code < REFUSED_FOR_GOOD:
                raise NotSent(f"the mail server put the receiver off ({code})") from None
            if OF_THE_SENDER.search(answer):
                raise NotSent(f"the mail server does not let this server send ({code})") from None
            raise Undeliverable(f"the mail server refused the receiver ({code})") from None
        except (OSError, trio.TooSlowError) as error:  # smtplib's own errors are OSErrors too
            code = getattr(error, "smtp_code", None)
            raise NotSent(type(error).__name__ + (f" ({code})" if code else "")) from None

    def try_out(self) -> None:
        """Connect, greet, encrypt and log in as for a mail, and leave. Raises UnusableMailServer."""
        step: Step = "connect"
        try:
            client = self._greeted()
            with closing(client):
                step = "encrypt"
                self._encrypt(client)
                step = "log in"
                self._log_in(client)
                with suppress(OSError):
                    client.quit()
        except OSError as error:  # smtplib's own errors are OSErrors too
            raise UnusableMailServer(step, error) from error

    def _hand_over(self, letter: Letter) -> None:
        client = self._connected()
        try:
            client.send_message(letter.as_mail(), letter.sender.mailbox, [letter.to])
            # The server has accepted the mail. It is not sent again, even if QUIT fails.
            with suppress(OSError):
                client.quit()
        finally:
            client.close()

    def _connected(self) -> smtplib.SMTP:
        client = self._greeted()
        try:
            self._encrypt(client)
            self._log_in(client)
        except BaseException:
            client.close()
            raise
        return client

    def _greeted(self) -> smtplib.SMTP:
        if self.tls == "tls":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, self.name, timeout=STEP, context=context)
        return smtplib.SMTP(self.host, self.port, self.name, timeout=STEP)

    def _encrypt(self, client: smtplib.SMTP) -> None:
        if self.tls == "starttls":
            client.starttls(context=ssl.create_default_context())

    def _log_in(self, client: smtplib.SMTP) -> None:
        client.ehlo_or_helo_if_needed()
        if self.user is None:
            return
        offered = client.esmtp_features.get("auth", "").upper().split()
        ways = [name for name in LOG_IN if name in offered]
        if not ways:
            raise smtplib.SMTPNotSupportedError(
                f"it takes no login by {', '.join(LOG_IN)}, but by {', '.join(offered) or 'none'}"
            )
        code, answer = 0, b""
        for name in ways:  # a server may offer a mechanism that it does not support
            code, answer = LOG_IN[name](client, self.user.encode(), (self.password or "").encode())
            if code in LOGGED_IN:
                return
        raise smtplib.SMTPAuthenticationError(code, answer)


def _plain(client: smtplib.SMTP, user: bytes, password: bytes) -> tuple[int, bytes]:
    """Log in by RFC 4616."""
    return client.docmd("AUTH", "PLAIN " + _base64(b"\0" + user + b"\0" + password))


def _login(client: smtplib.SMTP, user: bytes, password: bytes) -> tuple[int, bytes]:
    """Log in by the old mechanism, which some servers offer alone: name and password, each on a line."""
    code, answer = client.docmd("AUTH", "LOGIN")
    for text in (user, password):
        if code != MORE:
            break
        code, answer = client.docmd(_base64(text))
    return code, answer


def _cram_md5(client: smtplib.SMTP, user: bytes, password: bytes) -> tuple[int, bytes]:
    """Log in by RFC 2195: the password itself is not sent."""
    code, challenge = client.docmd("AUTH", "CRAM-MD5")
    if code != MORE:
        return code, challenge
    try:
        digest = hmac.new(password, base64.b64decode(challenge), "md5").hexdigest()
    except ValueError:
        return client.docmd("*")  # ends this try
    return client.docmd(_base64(user + b" " + digest.encode()))


def _base64(text: bytes) -> str:
    return base64.b64encode(text).decode()


# The mechanisms by the names of RFC 4954, the safest first.
LOG_IN: dict[str, Callable[[smtplib.SMTP, bytes, bytes], tuple[int, bytes]]] = {
    "CRAM-MD5": _cram_md5,
    "PLAIN": _plain,
    "LOGIN": _login,
}


def smtp_of(settings: MailSettings) -> Smtp | None:
    """Return how to reach the mail server; None if no mail is sent."""
    if settings.smtp_host is None:
        return None
    password = settings.smtp_password.get_secret_value() if settings.smtp_password else None
    name = settings.mail_sender.rpartition("@")[2]
    return Smtp(settings.smtp_host, settings.smtp_port, settings.smtp_tls, name, settings.smtp_user, password)
