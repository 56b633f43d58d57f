"""SMTP: one connection for each mail, in a thread, with a limit on everything."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Literal

import trio

from .sender import NotSent, Undeliverable
from .templates import Letter

Tls = Literal["none", "starttls", "tls"]
Step = Literal["connect", "encrypt", "log in"]

AT_ONCE = 4  # connections to the mail server
STEP = 30.0  # seconds that one answer of the mail server may take
WHOLE = 120.0  # seconds that a mail may take
REFUSED_FOR_GOOD = 500


class UnusableMailServer(Exception):
    """Raised when no mail could be handed over. `step` is the one that failed; the text is for the operator alone."""

    def __init__(self, step: Step, cause: Exception) -> None:
        super().__init__(" ".join(str(cause).split()) or type(cause).__name__)
        self.step: Step = step


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
        """Deliver a letter. Raises Undeliverable if its receiver was refused for good, NotSent for every other failure.

        The texts of these errors contain neither addresses nor the mail server's answers.
        """
        try:
            with trio.fail_after(WHOLE):
                # A thread whose time is over cannot be stopped. It counts as a connection until it ends.
                await trio.to_thread.run_sync(self._hand_over, letter, abandon_on_cancel=True, limiter=self.at_once)
        except smtplib.SMTPRecipientsRefused as refusal:
            codes = [code for code, _ in refusal.recipients.values()]
            if min(codes) >= REFUSED_FOR_GOOD:
                raise Undeliverable(f"the mail server refused the receiver ({codes[0]})") from None
            raise NotSent(f"the mail server put the receiver off ({codes[0]})") from None
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
        if self.user is None:
            client.ehlo_or_helo_if_needed()
        else:
            client.login(self.user, self.password or "")
