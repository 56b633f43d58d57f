"""Passwords: what matches, and which hashes are renewed at the next sign-in."""

from troupe.actors.rules.passwords import hashed, hashed_quickly, matches, outdated


def test_a_password_matches_its_hash_and_no_other_does() -> None:
    stored = hashed("open sesame")
    assert matches(stored, "open sesame")
    assert not matches(stored, "open barley")


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
