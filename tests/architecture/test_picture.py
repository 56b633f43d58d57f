"""The picture of the rooms is a golden file (`tests/accept.py`), and its arrows lead down."""

from itertools import pairwise

from .picture import PICTURE, Drawing, folders, reduced

ARROWS = {"top": {"left", "right", "low"}, "left": {"low"}, "right": set[str](), "low": set[str]()}


def test_every_folder_is_in_it() -> None:
    drawn = PICTURE.read_text("utf-8")
    assert {name for room in ("actors", "http") for name in folders(room) if f">{name}</text>" not in drawn} == set()


def test_an_arrow_that_follows_from_two_others_is_left_out() -> None:
    assert reduced(ARROWS) == ARROWS | {"top": {"left", "right"}}


def test_every_folder_stands_above_those_that_it_imports() -> None:
    assert Drawing(ARROWS).heights == {"top": 2, "left": 1, "right": 0, "low": 0}


def test_no_two_boxes_of_a_row_overlap() -> None:
    """Nor does a box stand on an arrow that passes its row."""
    for row in Drawing(ARROWS).rows:
        ends = sorted((spot.x - spot.width / 2, spot.x + spot.width / 2) for spot in row)
        assert all(left[1] < right[0] for left, right in pairwise(ends))
    assert sorted(len(row) for row in Drawing(ARROWS).rows) == [1, 2, 3], "an arrow bends in each row that it passes"
