"""The picture of the rooms and their folders, made from the imports. `make accept` draws it.

An arrow leads from a folder to one that it imports, directly or by way of files that lie beside folders. An arrow that
follows from two others is left out. Every folder stands above all those that it imports. There are no numbers of files
or imports in the picture, so that it changes only when a folder or an arrow does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path

from .floors import Arrows, units
from .imports import ROOMS, ROOT

PICTURE = Path(__file__).with_name("rooms.svg")

# All in pixels.
LETTER = 7.3  # the width of one, about
BOX = 28  # the height of a folder
ROW = 66  # from one row to the next
GAP = 14  # between two boxes of a row
EDGE = 16  # around the folders of a room
HEAD = 40  # above them, for the name of the room
MARGIN = 12
FOOT = 34  # below the rooms, for the caption
NARROWEST = 96  # a room
SWEEPS = 12  # times that rows are sorted
CAPTION = "A room imports itself and the rooms to its left. An arrow leads from a folder to one that it imports."
STYLE = """
svg { background: #fff; }
text { font: 13px ui-monospace, monospace; fill: #1d1d28; text-anchor: middle; }
.name { font: 600 16px system-ui, sans-serif; }
.caption { font: 13px system-ui, sans-serif; text-anchor: start; fill: #5d5d70; }
.room { fill: #f4f4f7; }
.folder { fill: #fff; stroke: #8b8b9c; }
.arrow { fill: none; stroke: #3d3bb3; stroke-opacity: 0.65; stroke-width: 1.3; marker-end: url(#head); }
""".strip()


@dataclass(eq=False)
class Spot:
    """A place in a row: a folder, or a bend of an arrow that passes the row."""

    name: str  # empty for a bend
    row: int  # from the lowest up
    x: float = 0.0
    above: list["Spot"] = field(default_factory=list["Spot"])
    below: list["Spot"] = field(default_factory=list["Spot"])

    @property
    def width(self) -> float:
        return LETTER * len(self.name) + 22 if self.name else 2.0


@dataclass
class Drawing:
    """A room: its folders in rows, with arrows down."""

    arrows: Arrows

    @cached_property
    def heights(self) -> dict[str, int]:
        """The row of each folder."""
        found: dict[str, int] = {}
        while len(found) < len(self.arrows):
            for name, below in self.arrows.items():
                if name not in found and below <= found.keys():
                    found[name] = 1 + max((found[other] for other in below), default=-1)
        return found

    @cached_property
    def rows(self) -> list[list[Spot]]:
        """The rows from the lowest up, sorted so that few arrows cross."""
        spots = {name: Spot(name, row) for name, row in sorted(self.heights.items())}
        rows: list[list[Spot]] = [[] for _ in range(max(self.heights.values(), default=-1) + 1)]
        for spot in spots.values():
            rows[spot.row].append(spot)
        for name, spot in spots.items():
            for other in sorted(self.arrows[name]):
                last = spot
                for row in range(spot.row - 1, spots[other].row, -1):
                    bend = Spot("", row)
                    rows[row].append(bend)
                    last = _join(last, bend)
                _join(last, spots[other])
        for sweep in range(SWEEPS):
            for row in rows if sweep % 2 else reversed(rows):
                _pack(row)
                row.sort(key=lambda spot: _middle(spot.below if sweep % 2 else spot.above, spot.x))
                _pack(row)
        return rows

    @property
    def width(self) -> float:
        return max(NARROWEST, 2 * EDGE + max((_width(row) for row in self.rows), default=0))

    @property
    def height(self) -> float:
        return HEAD + ROW * (len(self.rows) - 1) + BOX + EDGE


def _join(above: Spot, below: Spot) -> Spot:
    above.below.append(below)
    below.above.append(above)
    return below


def _width(row: Sequence[Spot]) -> float:
    return sum(spot.width for spot in row) + GAP * (len(row) - 1)


def _pack(row: Sequence[Spot]) -> None:
    """Put the spots of a row beside each other, around 0."""
    at = -_width(row) / 2
    for spot in row:
        spot.x = at + spot.width / 2
        at += spot.width + GAP


def _middle(spots: Sequence[Spot], otherwise: float) -> float:
    return sum(spot.x for spot in spots) / len(spots) if spots else otherwise


def folders(room: str) -> Arrows:
    """The folders of a room, with those that they import, without the arrows that follow from others."""
    graph = units(room)
    names = {unit for unit in graph.arrows if (ROOT / room / unit).is_dir()}
    return reduced({name: graph.reached[name] & names - {name} for name in names})


def reduced(reached: Arrows) -> Arrows:
    """Those of the arrows that do not follow from two others."""
    return {
        name: {end for end in ends if not any(end in reached[other] for other in ends)}
        for name, ends in reached.items()
    }


def picture() -> str:
    """The picture as SVG."""
    drawings = {room: Drawing(folders(room)) for room in ROOMS}
    height = max(drawing.height for drawing in drawings.values())
    width = MARGIN + sum(drawing.width + MARGIN for drawing in drawings.values())
    parts: list[str] = []
    left = float(MARGIN)
    for room, drawing in drawings.items():
        parts += _room(room, drawing, left, height)
        left += drawing.width + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height + MARGIN + FOOT:.0f}" role="img">',
        "<title>The rooms of the source and their folders</title>",
        f"<style>\n{STYLE}\n</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#3d3bb3"/></marker></defs>',
        *parts,
        f'<text class="caption" x="{MARGIN}" y="{height + MARGIN + 22:.0f}">{escape(CAPTION)}</text>',
        "</svg>",
        "",
    ])  # fmt: skip


def _room(room: str, drawing: Drawing, left: float, height: float) -> Iterator[str]:
    middle = left + drawing.width / 2
    size = f'width="{drawing.width:.0f}" height="{height:.0f}"'
    yield f'<rect class="room" x="{left:.0f}" y="{MARGIN}" {size} rx="8"/>'
    yield f'<text class="name" x="{middle:.0f}" y="{MARGIN + 26}">{room}</text>'
    bottom = MARGIN + height - EDGE
    spots = [spot for row in drawing.rows for spot in row]
    for spot in spots:
        if spot.name:
            for below in spot.below:
                yield f'<path class="arrow" d="{_path(spot, below, middle, bottom)}"/>'
    for spot in spots:
        if spot.name:
            x, y = middle + spot.x, _top(spot, bottom)
            size = f'width="{spot.width:.0f}" height="{BOX}"'
            yield f'<rect class="folder" x="{x - spot.width / 2:.0f}" y="{y:.0f}" {size} rx="5"/>'
            yield f'<text x="{x:.0f}" y="{y + 18:.0f}">{escape(spot.name)}</text>'


def _path(start: Spot, end: Spot, middle: float, bottom: float) -> str:
    """An arrow, from below its folder through its bends to the folder at its end."""
    x, y = middle + start.x, _top(start, bottom) + BOX
    path = f"M{x:.0f} {y:.0f}"
    while True:
        to_x, to_y = middle + end.x, _top(end, bottom) + (0 if end.name else BOX / 2)
        half = (y + to_y) / 2
        path += f" C{x:.0f} {half:.0f} {to_x:.0f} {half:.0f} {to_x:.0f} {to_y:.0f}"
        if end.name:
            return path
        x, y, end = to_x, to_y, end.below[0]


def _top(spot: Spot, bottom: float) -> float:
    return bottom - BOX - ROW * spot.row
