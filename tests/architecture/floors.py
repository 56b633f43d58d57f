"""The floors of each room. `python -m tests.architecture.floors` prints them.

A unit is a folder of the room, or a module that lies directly in the room. An arrow leads from a unit to one that it
imports, for type checking too. The lowest floor imports nothing of its room. Every other unit stands on the floor above
the highest one that it imports, so that each arrow leads downwards. Units in a circle share a floor.
"""

from dataclasses import dataclass
from functools import cached_property

import click

from .imports import MODULES, NAMES, ROOMS, imported, name_of

Arrows = dict[str, set[str]]


@dataclass(frozen=True)
class Graph:
    """Units or modules, each with those that it imports."""

    arrows: Arrows

    @cached_property
    def reached(self) -> Arrows:
        """Each unit with all that it imports, directly or by way of others."""
        return {unit: self._reached_from(unit) for unit in self.arrows}

    @property
    def circles(self) -> set[frozenset[str]]:
        """The sets of units that all reach each other."""
        return {self._circle(unit) for unit, reached in self.reached.items() if unit in reached}

    @property
    def floors(self) -> list[list[str]]:
        """The units of each floor, from the lowest up."""
        known: dict[str, int] = {}
        heights = {unit: self._height(unit, known) for unit in self.arrows}
        return [sorted(unit for unit in heights if heights[unit] == at) for at in sorted(set(heights.values()))]

    def __str__(self) -> str:
        count = sum(map(len, self.arrows.values()))
        lines = [f"{len(self.arrows)} units, {len(self.floors)} floors, {count} arrows"]
        lines += [f"  {number}  {' '.join(units)}" for number, units in reversed([*enumerate(self.floors, 1)])]
        return "\n".join(lines + [f"  circle: {' '.join(sorted(circle))}" for circle in self.circles])

    def _reached_from(self, unit: str) -> set[str]:
        found: set[str] = set()
        ahead = [unit]
        while ahead:
            new = self.arrows[ahead.pop()] - found
            found |= new
            ahead.extend(new)
        return found

    def _circle(self, unit: str) -> frozenset[str]:
        return frozenset({unit} | {other for other in self.reached[unit] if unit in self.reached[other]})

    def _height(self, unit: str, known: dict[str, int]) -> int:
        if unit not in known:
            circle = self._circle(unit)
            below = {other for member in circle for other in self.arrows[member]} - circle
            known[unit] = 1 + max((self._height(other, known) for other in below), default=0)
        return known[unit]


def modules() -> Graph:
    """All modules of the project, with the modules that they import."""
    arrows = {name_of(path): {name for _, name in imported(path) if name in NAMES} for path in MODULES}
    return Graph({name: imports - {name} for name, imports in arrows.items()})


def units(room: str) -> Graph:
    """The units of a room, with the units that they import."""
    arrows: Arrows = {}
    for path in MODULES:
        if (unit := _unit(room, name_of(path))) is not None:
            found = {_unit(room, name) for _, name in imported(path)}
            arrows.setdefault(unit, set()).update(other for other in found if other not in (None, unit))
    return Graph(arrows)


def _unit(room: str, name: str) -> str | None:
    """The unit in which a module lies; None for one outside of the room."""
    parts = name.split(".")
    return parts[1] if parts[0] == room and len(parts) > 1 else None


def main() -> None:
    for room in ROOMS:
        click.echo(f"{room}: {units(room)}")


if __name__ == "__main__":
    main()
