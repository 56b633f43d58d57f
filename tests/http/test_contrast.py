"""The contrast of texts and controls with what is behind them, in light and in dark: level AA of WCAG 2.2.

The pairs are those of the custom properties in the style sheets. `tests/end_to_end/test_staff_pages.py` measures what a
browser makes of them.
"""

import re

import pytest

from troupe.http.pages.templates import FOLDER

TEXT, CONTROL = 4.5, 3.0
BACKGROUNDS = ("ground", "sheet")
PAIRS = [
    *((text, behind, TEXT) for text in ("ink", "faint", "strong", "good", "alarm") for behind in BACKGROUNDS),
    ("ink", "hairline", TEXT),  # the current link of the navigation
    ("on-strong", "strong", TEXT),
    ("sheet", "alarm", TEXT),  # a button that destroys
    ("alarm", "alarm-ground", TEXT),
    ("good", "good-ground", TEXT),
    *(("line", behind, CONTROL) for behind in BACKGROUNDS),  # the border of fields and buttons
    *(("strong", behind, CONTROL) for behind in BACKGROUNDS),  # the frame of what has the focus
]


def schemes() -> dict[str, dict[str, str]]:
    """The custom properties by their names, in light and in dark."""
    light, dark = re.findall(r":root \{(.*?)\}", (FOLDER / "style.css").read_text("utf-8"), re.DOTALL)
    colours = [dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in (light, dark)]
    return {"light": colours[0], "dark": colours[0] | colours[1]}


def luminance(colour: str) -> float:
    """The relative luminance of `#rgb` or `#rrggbb`, from 0 to 1."""
    digits = colour.removeprefix("#")
    digits = digits if len(digits) == 6 else "".join(one * 2 for one in digits)
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_ratio_is_that_of_the_guidelines() -> None:
    assert ratio("#fff", "#000000") == pytest.approx(21)
    assert ratio("#777", "#fff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_pair_of_colours_can_be_read(scheme: str) -> None:
    colours = schemes()[scheme]
    found = [(text, behind, ratio(colours[text], colours[behind]), least) for text, behind, least in PAIRS]
    assert [f"{text} on {behind}: {got:.2f}" for text, behind, got, least in found if got < least] == []
