"""What a mail says and in which language, and that nothing in it can be more than text."""

from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default

import pytest

from troupe.actors.mail.templates import FOLDER, Letter, Sender, text_of
from troupe.actors.rules.mailboxes import is_mailbox, mailbox_of

LINK = "https://t.example/x?y=z"
STRIKE = {"text": "Be kind.", "posts": "> hello", "appealing": "ada", "appeal": "7"}
REPORT = {"report": "7", "target": "bob", "category": "spam"}
WORDS = {"username": "eve", "server": "Troupe", "base_url": "https://t.example", "link": LINK, **STRIKE, **REPORT}
KINDS = sorted({path.name.partition(".")[0] for path in FOLDER.glob("*.txt")})
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOSTILE = "Troupe\r\nBcc: all@example.org\r\n\r\n<b>\x00\u202e"


def letter(**more: str) -> Letter:
    sender = Sender("troupe@t.example", more.pop("name", "Troupe"))
    facts = {"to": "eve@example.org", "subject": "Hello", "body": "Hello\n"}
    return Letter("<a.1@t.example>", sender, written_at=NOW, **(facts | more))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "de"])
def test_a_text_leaves_no_word_open(kind: str, language: str) -> None:
    assert (FOLDER / f"{kind}.{language}.txt").is_file(), "without one, the text is the English one"
    subject, body = text_of(kind, language, WORDS)
    assert "$" not in subject + body
    assert "\n" not in subject
    assert "eve" in body


def test_an_empty_word_leaves_no_gap() -> None:
    body = text_of("strike_silence", "en", WORDS | {"text": ""})[1]
    assert "\n\n\n" not in body


def test_every_letter_is_there_in_english() -> None:
    assert text_of("confirmation", None, WORDS) == text_of("confirmation", "en", WORDS)


@pytest.mark.parametrize(
    ("locale", "german"), [("de", True), ("de-CH", True), ("DE", True), ("fr", False), ("../../etc/passwd", False)]
)
def test_the_language_is_the_users_as_far_as_there_is_one(locale: str, german: bool) -> None:
    assert text_of("confirmation", locale, WORDS)[0].startswith("Bestätige" if german else "Confirm")


def test_a_word_that_looks_like_a_gap_stays_as_it_is() -> None:
    assert "$link" in text_of("confirmation", "en", WORDS | {"server": "$link"})[0]


def test_no_header_begins_in_another() -> None:
    mail = message_from_bytes(letter(name=HOSTILE, subject=HOSTILE).as_mail().as_bytes(), policy=default)
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Troupe Bcc: all@example.org <b>"
    assert [address.addr_spec for address in mail["From"].addresses] == ["troupe@t.example"]
    assert set(mail.keys()) == {
        *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"),
        *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
    }


@pytest.mark.parametrize(
    "to",
    ["eve@example.org\r\nBcc: all@example.org", "eve@example.org, b@example.org", "Eve <eve@example.org>", "eve"],
)
def test_an_address_that_is_more_than_one_is_none(to: str) -> None:
    assert mailbox_of(to, "localhost:3000") is None
    assert not is_mailbox(to)


def test_an_operator_may_have_chosen_a_host_without_a_dot() -> None:
    assert is_mailbox("admin@localhost")
    assert mailbox_of("admin@localhost", "social.example") is None


@pytest.mark.parametrize("domain", ["localhost:3000", "intranet", "127.0.0.1:3000", "troupe.localhost"])
def test_a_server_without_a_public_name_takes_hosts_without_a_dot(domain: str) -> None:
    assert mailbox_of("eve@Intranet", domain) == "eve@intranet"
    assert mailbox_of("eve@example.org", domain) == "eve@example.org"
    for wrong in ("eve@-x", "eve@x_y", "eve@", "eve@in tranet", "eve@x:25"):
        assert mailbox_of(wrong, domain) is None


@pytest.mark.parametrize("domain", ["social.example", "social.example:8443", "192.0.2.1", "localhost.example"])
def test_a_server_with_a_public_name_takes_none(domain: str) -> None:
    assert mailbox_of("eve@intranet", domain) is None


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Tea, cake & biscuits", "Tea, cake & biscuits"),
        ("Büro für Tee, Kuchen", "Büro für Tee, Kuchen"),
        ("Tea, " * 40, ("Tea, " * 12).rstrip()),
        ('"Tea", ' * 20, '"Tea", ' * 6 + '"'),
        ("Tee: süß, " * 20, ("Tee: süß, " * 6).rstrip()),
    ],
)
def test_a_name_with_commas_is_one_sender(name: str, shown: str) -> None:
    """Also where it is too long for a line: each part of it was a sender of its own, which mail servers refuse."""
    mail = message_from_bytes(letter(name=name).as_mail().as_bytes(), policy=default)
    (sender,) = mail["From"].addresses
    assert sender.addr_spec == "troupe@t.example"
    # Python's reader leaves a blank between two encoded words, which is no part of the name (RFC 2047, 6.2).
    assert sender.display_name.replace(" ", "") == shown.replace(" ", "")


def test_no_mail_server_needs_to_take_eight_bits() -> None:
    sent = letter(name="Büro", subject="Grüße ☕", body="Hallo Ünï\n").as_mail().as_bytes()
    assert sent.isascii()
    mail = message_from_bytes(sent, policy=default)
    assert (mail["Subject"], mail.get_content()) == ("Grüße ☕", "Hallo Ünï\r\n")


def test_a_long_link_arrives_whole() -> None:
    link = "https://" + "a" * 500 + ".example/?confirmation_token=" + "x" * 43
    mail = message_from_bytes(letter(body=f"Hallo Ünï\n\n{link}\n").as_mail().as_bytes(), policy=default)
    assert link in mail.get_content()
    assert max(map(len, letter(body=link).as_mail().as_bytes().split(b"\r\n"))) < 998
