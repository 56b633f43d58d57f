"""Handing letters to a real SMTP server: in clear, encrypted, logged in; and what becomes of refusals."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.actors.mail import smtp
from troupe.actors.mail.sender import NotSent, Undeliverable
from troupe.actors.mail.smtp import Smtp, UnusableMailServer
from troupe.actors.mail.templates import Letter, Sender

from ..certificates import certificate
from .mailserver import HOST, OK, MailServer, mail_server

LETTER = Letter(
    "<confirmation.1@t.example>", Sender("troupe@t.example", "Bühne"), "eve@example.org", "Grüße", "Ein Link\n",
    datetime(2026, 11, 21, 12, tzinfo=UTC),
)  # fmt: skip


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


def plain(port: int) -> Smtp:
    return Smtp(HOST, port, "none", "t.example")


async def test_a_letter_arrives_as_it_was_written(server: MailServer) -> None:
    await plain(server.port)(LETTER)
    (arrived,) = server.arrived
    assert (arrived.sender, arrived.receivers, arrived.encrypted) == ("troupe@t.example", ["eve@example.org"], False)
    mail = arrived.mail
    assert (mail["Subject"], mail["From"], mail["To"]) == ("Grüße", "Bühne <troupe@t.example>", "eve@example.org")
    assert (mail["Message-ID"], mail["Date"]) == ("<confirmation.1@t.example>", "Sat, 21 Nov 2026 12:00:00 +0000")
    assert arrived.body.strip() == "Ein Link"


@pytest.mark.parametrize("offered", ["PLAIN", "LOGIN", "CRAM-MD5", "XOAUTH2 LOGIN"])
async def test_a_login_may_have_any_letters(offered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    user, password = "Bühne@t.example", "pässwörd 密码"
    others = {"PLAIN", "LOGIN", "CRAM-MD5"} - set(offered.split())
    with mail_server(credentials=(user, password), auth_exclude_mechanism=others) as server:
        await Smtp(HOST, server.port, "none", "t.example", user, password)(LETTER)
        assert [mail.user for mail in server.arrived] == [user]
        with pytest.raises(NotSent, match=r"SMTPAuthenticationError \(535\)"):
            await Smtp(HOST, server.port, "none", "t.example", user, "falsch")(LETTER)


async def test_a_server_without_a_known_login_says_so(server: MailServer) -> None:
    with pytest.raises(NotSent, match="SMTPNotSupportedError"):
        await Smtp(HOST, server.port, "none", "t.example", "troupe", "secret")(LETTER)
    with pytest.raises(UnusableMailServer, match=r"no login by CRAM-MD5, PLAIN, LOGIN, but by none"):
        Smtp(HOST, server.port, "none", "t.example", "troupe", "secret").try_out()


class TestEncrypted:
    @pytest.fixture
    def tls(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        own = certificate(tmp_path, addresses=[HOST])
        monkeypatch.setenv("SSL_CERT_FILE", str(own.file))
        return own.server

    @pytest.mark.parametrize("way", ["tls", "starttls"])
    async def test_with_a_login(self, tls: Any, way: smtp.Tls) -> None:
        # aiosmtpd knows of encryption only when it was asked for with STARTTLS.
        how = {"ssl_context": tls} if way == "tls" else {"tls_context": tls, "auth_require_tls": True}
        with mail_server(credentials=("troupe", "secret"), **how) as server:
            await Smtp(HOST, server.port, way, "t.example", "troupe", "secret")(LETTER)
            assert [(mail.encrypted or way == "tls", mail.user) for mail in server.arrived] == [(True, "troupe")]
            with pytest.raises(NotSent, match=r"SMTPAuthenticationError \(535\)"):
                await Smtp(HOST, server.port, way, "t.example", "troupe", "wrong")(LETTER)

    @pytest.mark.parametrize("way", ["tls", "starttls"])
    async def test_a_certificate_of_an_unknown_authority_is_refused(
        self, tls: Any, monkeypatch: pytest.MonkeyPatch, way: smtp.Tls
    ) -> None:
        monkeypatch.delenv("SSL_CERT_FILE")
        with mail_server(**({"ssl_context": tls} if way == "tls" else {"tls_context": tls})) as server:
            with pytest.raises(NotSent, match="SSLCertVerificationError"):
                await Smtp(HOST, server.port, way, "t.example")(LETTER)
            assert server.arrived == []

    async def test_a_server_that_cannot_encrypt_gets_nothing(self, server: MailServer) -> None:
        with pytest.raises(NotSent, match="SMTPNotSupportedError"):
            await Smtp(HOST, server.port, "starttls", "t.example", "troupe", "secret")(LETTER)
        assert server.arrived == []


@pytest.mark.parametrize(
    ("receivers", "data", "error", "text"),
    [
        ("550 eve@example.org is unknown", "250 OK", Undeliverable, "the mail server refused the receiver (550)"),
        ("550 5.1.1 <eve@example.org>: unknown", OK, Undeliverable, "the mail server refused the receiver (550)"),
        (
            "554 5.7.1 <eve@example.org>: Access denied",
            OK,
            NotSent,
            "the mail server does not let this server send (554)",
        ),
        ("550 Relaying denied", OK, NotSent, "the mail server does not let this server send (550)"),
        ("530 Authentication required", OK, NotSent, "the mail server does not let this server send (530)"),
        ("450 eve@example.org is greylisted", "250 OK", NotSent, "the mail server put the receiver off (450)"),
        ("250 OK", "451 eve@example.org is busy", NotSent, "SMTPDataError (451)"),
        ("250 OK", "554 no thanks, eve@example.org", NotSent, "SMTPDataError (554)"),
    ],
)
async def test_refusals_are_told_without_addresses(
    server: MailServer, receivers: str, data: str, error: type[Exception], text: str
) -> None:
    server.to_receivers, server.to_data = receivers, data
    with pytest.raises(error) as told:
        await plain(server.port)(LETTER)
    assert str(told.value) == text


async def test_no_mail_server() -> None:
    with socket.create_server((HOST, 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(NotSent, match="ConnectionRefusedError"):
        await plain(port)(LETTER)


async def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "STEP", 0.05)
    with socket.create_server((HOST, 0)) as silent, pytest.raises(NotSent, match="SMTPServerDisconnected"):
        await plain(silent.getsockname()[1])(LETTER)


async def test_a_mail_has_so_much_time_and_no_more(monkeypatch: pytest.MonkeyPatch, autojump_clock: Any) -> None:
    with socket.create_server((HOST, 0)) as silent:
        monkeypatch.setattr(smtp, "STEP", 1)
        with pytest.raises(NotSent, match="TooSlowError"):
            await plain(silent.getsockname()[1])(LETTER)


async def test_only_so_many_connections_at_once(server: MailServer) -> None:
    carry = Smtp(HOST, server.port, "none", "t.example")
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, carry.at_once.borrowed_tokens)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as watching:
        watching.start_soon(watch)
        async with trio.open_nursery() as sending:
            for _ in range(12):
                sending.start_soon(carry, LETTER)
        watching.cancel_scope.cancel()
    assert len(server.arrived) == 12
    assert most == smtp.AT_ONCE
