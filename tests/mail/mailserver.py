"""A real SMTP server for tests: takes mails, or refuses them as it is told."""

from __future__ import annotations

import asyncio
import email
import hmac
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from threading import Condition
from typing import Any, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

HOST = "127.0.0.1"
OK = "250 OK"
CHALLENGE = b"<1896.697170952@t.example>"
PATIENCE = 30  # seconds, for what comes at once


@dataclass(frozen=True, slots=True)
class Arrived:
    """A mail as its receiver's server has it."""

    sender: str
    receivers: list[str]
    raw: bytes
    encrypted: bool
    user: str | None

    @property
    def mail(self) -> EmailMessage:
        return email.message_from_bytes(self.raw, policy=default)

    @property
    def body(self) -> str:
        return self.mail.get_content()


@dataclass
class MailServer:
    """What came, and what is to be answered to RCPT and to DATA. Called from a thread of its own."""

    port: int = 0
    arrived: list[Arrived] = field(default_factory=list[Arrived])
    to_receivers: str = OK
    to_data: str = OK
    silent: bool = False  # to keep the sender of a mail waiting for its answer
    credentials: tuple[str, str] = ("", "")
    _news: Condition = field(default_factory=Condition)

    def receive(self, receiver: str, count: int = 1) -> Arrived:
        """Return the newest of `count` mails to an address, as soon as they are there."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.to(receiver)) >= count, PATIENCE), f"no mail to {receiver}"
            return self.to(receiver)[-1]

    def to(self, receiver: str) -> list[Arrived]:
        return [mail for mail in self.arrived if mail.receivers == [receiver]]

    async def auth_CRAM__MD5(self, server: SMTP, args: list[str]) -> AuthResult:
        """Log in by RFC 2195, which aiosmtpd itself does not know."""
        user, password = (text.encode() for text in self.credentials)
        answer = await server.challenge_auth(CHALLENGE.decode())
        wanted = user + b" " + hmac.new(password, CHALLENGE, "md5").hexdigest().encode()
        known = answer == wanted
        return AuthResult(success=known, handled=False, auth_data=LoginPassword(user, b"") if known else None)

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.to_receivers == OK:
            envelope.rcpt_tos.append(address)
        return self.to_receivers

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.to_data == OK:
            user = cast("LoginPassword | None", session.auth_data)
            self._keep(
                Arrived(
                    envelope.mail_from or "", list(envelope.rcpt_tos), cast(bytes, envelope.content),
                    session.ssl is not None, user.login.decode() if user is not None else None,
                )
            )  # fmt: skip
        if self.silent:
            await asyncio.Event().wait()  # until its connection is closed
        return self.to_data

    def _keep(self, mail: Arrived) -> None:
        with self._news:
            self.arrived.append(mail)
            self._news.notify_all()


@contextmanager
def mail_server(*, credentials: tuple[str, str] | None = None, **how: Any) -> Generator[MailServer]:
    """A server on a free port; `how` is for aiosmtpd."""
    if credentials is not None:
        how = {"authenticator": _knows(*credentials), "auth_required": True, "auth_require_tls": False} | how
    handler = MailServer(_free_port(), credentials=credentials or ("", ""))
    controller = Controller(handler, hostname=HOST, port=handler.port, loop=asyncio.SelectorEventLoop(), **how)
    controller.start()
    try:
        yield handler
    finally:
        controller.stop()


def _knows(user: str, password: str) -> Any:
    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        known = (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=known, handled=False, auth_data=data if known else None)

    return authenticate


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as one:
        return one.getsockname()[1]
