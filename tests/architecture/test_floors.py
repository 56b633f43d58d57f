"""No import runs back up: neither among the units of a room, nor among the modules."""

import pytest

from .floors import Graph, modules, units
from .imports import ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_no_arrow_between_the_units_of_a_room_runs_back_up(room: str) -> None:
    check(units(room))


def test_no_modules_import_each_other_in_a_circle() -> None:
    check(modules())


def test_a_circle_is_found_and_its_units_share_a_floor() -> None:
    graph = Graph({"top": {"left", "low"}, "left": {"right"}, "right": {"left", "low"}, "low": set()})
    assert graph.circles == {frozenset({"left", "right"})}
    assert graph.floors == [["low"], ["left", "right"], ["top"]]
    assert str(graph).startswith("4 units, 3 floors, 5 arrows\n")


def check(graph: Graph) -> None:
    assert not graph.circles, f"modules import each other in a circle:\n{graph}"
