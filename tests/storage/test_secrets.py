"""Comparing secrets."""

import pytest

from troupe.storage.secrets import equal_secrets


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("abc", "abc", True),
        ("abc", "abd", False),
        ("abc", "", False),
        ("größe", "größe", True),
        ("größe", "grosse", False),
        ("a", "\ud800", False),
        (b"abc", b"abc", True),
        (b"abc", "abc", True),
        (b"\xff", "ÿ", False),
    ],
)
def test_any_two_texts_can_be_compared(first: str | bytes, second: str | bytes, equal: bool) -> None:
    assert equal_secrets(first, second) is equal
