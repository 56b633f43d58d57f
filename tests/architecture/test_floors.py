"""No import runs back up: neither among the units of a room, nor among the modules."""

import pytest

from .floors import Graph, modules, units
from .imports import ROOMS

# Circles that are still there. A circle may lose members and must not win any; one that is open is taken off the list.
UNITS: dict[str, list[set[str]]] = {}
KERNEL = ("actor", "cell", "crowd", "passivation", "pool", "portraits", "recovery", "runtime", "watchdog", "work")
MODULES: list[set[str]] = [{f"actors.kernel.{name}" for name in KERNEL}]


@pytest.mark.parametrize("room", ROOMS)
def test_no_arrow_between_the_units_of_a_room_runs_back_up(room: str) -> None:
    check(units(room), UNITS.get(room, []))


def test_no_modules_import_each_other_in_a_circle() -> None:
    check(modules(), MODULES)


def test_a_circle_is_found_and_its_units_share_a_floor() -> None:
    graph = Graph({"top": {"left", "low"}, "left": {"right"}, "right": {"left", "low"}, "low": set()})
    assert graph.circles == {frozenset({"left", "right"})}
    assert graph.floors == [["low"], ["left", "right"], ["top"]]
    assert str(graph).startswith("4 units, 3 floors, 5 arrows\n")


def check(graph: Graph, known: list[set[str]]) -> None:
    """Fail on a circle that is in none of the known ones, and on a known one of which nothing is left."""
    new = [sorted(circle) for circle in graph.circles if not any(circle <= old for old in known)]
    assert new == [], f"modules import each other in a circle: {new}\n{graph}"
    gone = [sorted(old) for old in known if not any(circle <= old for circle in graph.circles)]
    assert gone == [], "this circle is open: take it off the list in this file"
