"""Values in words, for pages and the command line."""

from datetime import UTC, datetime

import pytest

from troupe.actors.rules.wording import number_of, plain

NOW = datetime(2026, 11, 27, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "things", "written"),
    [
        (1, "open reports", "1 open report"), (0, "open reports", "0 open reports"), (2, "replies", "2 replies"),
        (1, "replies", "1 reply"), (1, "actors in quarantine", "1 actor in quarantine"),
        (1, "sign-ups to approve", "1 sign-up to approve"), (1, "copies of files", "1 copy of files"),
        (1, "recovery codes", "1 recovery code"), (1, "emoji", "1 emoji"), (0, "files", "0 files"),
        (1, "deliveries", "1 delivery"), (1, "dead letters", "1 dead letter"),
    ],
)  # fmt: skip
def test_a_number_of_things_has_its_form(count: int, things: str, written: str) -> None:
    assert number_of(count, things) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ([], "none"), ((), "none"), ({}, "none"), (None, "none"), ("", "none"), (True, "yes"), (False, "no"), (0, "0"),
        (["PublishStatus#88"], "PublishStatus#88"), (("a", 1), "a, 1"), ({"a": 1, "b": [2, 3]}, "a 1, b 2, 3"),
        (1.5, "1.5"), (2.0, "2.0"), (0.12345, "0.123"), (117686532611505153, "117686532611505153"), ("a [b]", "a [b]"),
        (NOW, "2026-11-27 14:05:00 UTC"),
    ],
)  # fmt: skip
def test_no_value_is_written_as_python_writes_it(value: object, written: str) -> None:
    assert plain(value) == written


def test_causes_lead_to_each_other() -> None:
    assert plain(["a", "b"], " → ") == "a → b"
