"""Every row of the checklist has a test, or a reason why it has none."""

from ..checklist.rows import holders, table, titles

# The list may only become shorter.
UNTESTED: dict[str, list[str]] = {}


def test_every_marked_row_is_on_the_checklist() -> None:
    assert len(titles()) == 266
    assert holders().keys() - titles().keys() == set()


def test_a_row_without_a_test_has_a_reason_and_one_with_a_test_has_none() -> None:
    untested = [number for numbers in UNTESTED.values() for number in numbers]
    assert titles().keys() - holders().keys() == set(untested)
    assert len(untested) == len(set(untested)) == 0


def test_the_table_has_a_line_for_each_row() -> None:
    assert len(table().splitlines()) == len(titles())
