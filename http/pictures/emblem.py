"""The emblem of Troupe, which browsers show beside a page's title: three overlapping discs on a plain ground."""

from __future__ import annotations

import struct
from functools import cache
from math import hypot

from .png import Colour, indexed_png, mixed

GROUND: Colour = (61, 59, 179)
# Place and radius of each disc as parts of the emblem's size, and its colour. Later discs are in front.
DISCS: tuple[tuple[float, float, float, Colour], ...] = (
    (0.34, 0.60, 0.21, (164, 162, 236)),
    (0.66, 0.60, 0.21, (206, 205, 248)),
    (0.50, 0.36, 0.21, (255, 255, 255)),
)
LEVELS = 4  # shades between a colour and the ground, so that the edges are smooth
BANNER = (1200, 630)
EMBLEM_OF_BANNER = 240

Rows = list[list[int]]


@cache
def emblem_png(size: int) -> bytes:
    """Return the emblem as a square PNG."""
    return indexed_png([bytes(row) for row in _rows(size)], _palette())


@cache
def banner_png() -> bytes:
    """Return a wide picture with the emblem in its middle, for link previews on other sites."""
    width, height = BANNER
    left, top = (width - EMBLEM_OF_BANNER) // 2, (height - EMBLEM_OF_BANNER) // 2
    middle = [bytes(left) + bytes(row) + bytes(width - left - EMBLEM_OF_BANNER) for row in _rows(EMBLEM_OF_BANNER)]
    return indexed_png([bytes(width)] * top + middle + [bytes(width)] * (height - top - len(middle)), _palette())


@cache
def icon(size: int) -> bytes:
    """Return the emblem as a Windows icon that contains a PNG."""
    picture = emblem_png(size)
    entry = struct.pack("<BBBBHHII", size, size, 0, 0, 1, 8, len(picture), 22)
    return struct.pack("<HHH", 0, 1, 1) + entry + picture


def _rows(size: int) -> Rows:
    """Return the pixels as numbers of colours in the palette."""
    return [[_pixel((x + 0.5) / size, (y + 0.5) / size, size) for x in range(size)] for y in range(size)]


def _pixel(x: float, y: float, size: int) -> int:
    for number, (left, top, radius, _) in reversed([*enumerate(DISCS)]):
        inside = (radius - hypot(x - left, y - top)) * size + 0.5  # in pixels
        if inside >= 1:
            return (number + 1) * LEVELS
        if inside > 0:
            return max(number * LEVELS + round(inside * LEVELS), 0)
    return 0


def _palette() -> list[Colour]:
    """Return the ground, then for each disc its shades, and its pure colour last."""
    return [GROUND, *(mixed(GROUND, colour, level / LEVELS) for *_, colour in DISCS for level in range(1, LEVELS + 1))]
