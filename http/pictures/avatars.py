"""The pictures of accounts without an avatar: a pattern for each seed, drawn on request.

The URL only has a seed of 16 bits, which is made from the account's id. So a picture needs no row and no file: requests
for all URLs cost some CPU, and fill neither disk nor memory. A quarter of the picture is drawn from four tiles and
mirrored to the other three. It takes less than a millisecond and no imaging library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from colorsys import hls_to_rgb
from functools import lru_cache
from hashlib import blake2b
from math import hypot, sqrt

from .png import Colour, indexed_png, mixed

SEED = re.compile(r"[0-9a-f]{4}\.png")
PATH = "/avatars/original"
TILE = 60  # pixels; a picture has four by four
LEVELS = 8  # shades between a colour and the background, so that curves have smooth edges
KEPT = 512  # pictures in memory, of about 2 KB each
HUES = 36

# The signed distance in pixels from a shape's edge, negative inside. Most shapes begin at the tile's first corner.
SHAPES: Sequence[Callable[[float, float], float]] = (
    lambda x, y: hypot(x, y) - TILE,  # a quarter of a disc
    lambda x, y: abs(hypot(x, y) - TILE * 0.67) - TILE * 0.33,  # a quarter of a ring
    lambda x, y: (x + y - TILE) / sqrt(2),  # a triangle
    lambda x, y: max(hypot(x, y) - TILE, hypot(x - TILE, y - TILE) - TILE),  # a leaf
    lambda x, y: hypot(x - TILE / 2, y - TILE / 2) - TILE * 0.38,  # a disc
    lambda x, y: hypot(x, y) - TILE * 0.55,  # a small quarter of a disc
)

Rows = list[bytes]


def avatar_path(account_id: int) -> str:
    """Return the path of an account's picture. It never changes; about one in 65,536 accounts shares it."""
    return f"{PATH}/{blake2b(account_id.to_bytes(8, 'big'), digest_size=2).hexdigest()}.png"


@lru_cache(maxsize=KEPT)
def draw(seed: int) -> bytes:
    """Return the picture of a seed as a PNG."""
    dice = blake2b(seed.to_bytes(2, "big")).digest()
    quarter = [
        left + right
        for upper in (0, 1)
        for left, right in zip(*(_tile(*dice[6 * place : 6 * place + 4]) for place in (upper, upper + 2)), strict=True)
    ]
    half = [row + row[::-1] for row in quarter]
    return indexed_png(half + half[::-1], _palette(*dice[24:27]))


def _tile(shape: int, flip_x: int, flip_y: int, colour: int) -> Rows:
    """Return a tile, which is flipped and coloured by random numbers."""
    rows = _shape(shape % len(SHAPES))
    if flip_y % 2:
        rows = rows[::-1]
    if flip_x % 2:
        rows = [row[::-1] for row in rows]
    return [row.translate(SECOND_COLOUR) for row in rows] if colour % 2 else rows


@lru_cache(maxsize=len(SHAPES))
def _shape(number: int) -> Rows:
    """Return a shape as levels of coverage, from 0 outside to LEVELS inside."""
    distance = SHAPES[number]
    return [bytes(_level(distance(x + 0.5, y + 0.5)) for x in range(TILE)) for y in range(TILE)]


def _level(distance: float) -> int:
    return round(min(max(0.5 - distance, 0), 1) * LEVELS)


# The palette: the background, the levels of the first colour, the levels of the second colour.
SECOND_COLOUR = bytes(value + LEVELS if 0 < value <= LEVELS else value for value in range(256))


def _palette(hue: int, distance: int, scheme: int) -> list[Colour]:
    first = hue % HUES / HUES
    second = first + (0.09, 0.5, -0.09, 0.33)[distance % 4]
    if scheme % 3:
        background, colours = _colour(first, 0.91, 0.55), (_colour(first, 0.44, 0.55), _colour(second, 0.62, 0.62))
    else:
        background, colours = _colour(first, 0.24, 0.42), (_colour(first, 0.62, 0.60), _colour(second, 0.80, 0.65))
    return [
        background,
        *(mixed(background, colour, level / LEVELS) for colour in colours for level in range(1, LEVELS + 1)),
    ]


def _colour(hue: float, lightness: float, saturation: float) -> Colour:
    red, green, blue = hls_to_rgb(hue % 1, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)
