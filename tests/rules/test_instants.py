"""Times as people and programs write them."""

import pytest

from troupe.actors.rules.instants import ascii_digits, printed_instant


@pytest.mark.parametrize(
    "text",
    [
        "2027-11-28T10:00:00+01:00",
        "2027-11-28T10:00:00+01:00[Europe/Berlin]",
        "2027-11-28T09:00Z[UTC]",
        "2027-11-28 09:00:00 UTC",
        "Sun, 28 Nov 2027 09:00:00 GMT",
        "2027-11-28 09:00:00 +0000 UTC",
        "Sun Nov 28 2027 10:00:00 GMT+0100 (Central European Standard Time)",
        "Sun Nov 28 2027 09:00:00 GMT+0000",
    ],
)
def test_a_time_is_read_as_programs_print_it(text: str) -> None:
    found = printed_instant(text)
    assert found is not None
    assert found.isoformat() == "2027-11-28T09:00:00+00:00"


@pytest.mark.parametrize(
    "text",
    [
        "2027-11-28T10:00:00[a b]",
        "2027-11-31T10:00:00Z[UTC]",
        "[UTC]",
        "Sun, 31 Nov 2027 10:00:00 GMT",
        "Sun Nov 31 2027 10:00:00 GMT+0100",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert printed_instant(text) is None


def test_digits_of_every_script_are_digits() -> None:
    assert ascii_digits("\u0662\u0660\u0662\u0667-\u06f1\u06f1-\uff12\uff18 at \u096f, é") == "2027-11-28 at 9, é"
