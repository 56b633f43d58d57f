"""Passwords: what matches, and which hashes are renewed at the next sign-in."""

import time
from collections.abc import Callable

import pytest

from troupe.actors.rules.passwords import HASHER, app_address, hashed, hashed_quickly, matches, new_secret, outdated


def test_passwords_are_hashed_as_owasp_recommends() -> None:
    assert hashed("open sesame").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_a_password_matches_its_hash_and_no_other_does() -> None:
    stored = hashed("open sesame")
    assert matches(stored, "open sesame")
    assert not matches(stored, "open barley")


@pytest.mark.parametrize("made_by", [hashed, hashed_quickly])
def test_a_password_is_the_same_from_every_keyboard(made_by: Callable[[str], str]) -> None:
    """An accent is a part of its letter, or a character of its own."""
    for typed in ("caf\u00e9 noir", "cafe\u0301 noir"):
        stored = made_by(typed)
        assert matches(stored, "caf\u00e9 noir")
        assert matches(stored, "cafe\u0301 noir")
        assert not matches(stored, "cafe noir")
        assert not matches(stored, "Caf\u00e9 noir")


def test_a_password_of_an_earlier_version_matches_as_it_was_typed() -> None:
    stored = HASHER.hash("cafe\u0301 noir")
    assert matches(stored, "cafe\u0301 noir")
    assert not matches(stored, "cafe noir")


def test_one_password_has_a_new_hash_each_time() -> None:
    assert hashed("open sesame") != hashed("open sesame")


def test_a_quick_hash_matches_and_is_renewed_at_sign_in() -> None:
    stored = hashed_quickly("open sesame")
    assert matches(stored, "open sesame")
    assert outdated(stored)
    assert not outdated(hashed("open sesame"))


def test_a_hash_that_cannot_be_read_matches_nothing() -> None:
    assert not matches("", "")
    assert not matches("$2b$10$something", "x")


WRONG = [
    pytest.param(hashed_quickly("open sesame"), id="a weaker hash"),
    pytest.param("$2b$10$something", id="a hash that cannot be read"),
    pytest.param(None, id="no account, or none with a password"),
]


@pytest.mark.parametrize("stored", WRONG)
def test_a_wrong_password_costs_the_same_for_every_stored_hash(stored: str | None) -> None:
    """The time of an answer must not tell whether there is an account, nor what its hash is like."""
    usual = cost(hashed("open sesame"))
    assert usual / 1.5 < cost(stored) < usual * 1.5


def cost(stored: str | None) -> float:
    """Seconds of this thread's CPU for a wrong password, at best."""

    def once() -> float:
        start = time.thread_time()
        assert not matches(stored, "open barley")
        return time.thread_time() - start

    return min(once() for _ in range(7))


def test_an_authenticator_app_is_given_a_name_without_a_colon() -> None:
    secret = new_secret("random")
    address = app_address(secret, "ada@one.example", "Tea: the server")
    assert address == f"otpauth://totp/Tea%20the%20server:ada%40one.example?secret={secret}&issuer=Tea%20the%20server"
