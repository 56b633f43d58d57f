"""The lengths of texts, as they are counted for the limits.

Apart from `limits.py`, which the processes that decode media import: the imports of this module take half as long as
the rest of such a process.
"""

import regex

from .limits import SPOILER_CODE_POINTS, STATUS_CHARACTERS, TEXT_CODE_POINTS, URL_WEIGHT
from .markup import tidy
from .scan import FoundLink, FoundMention, find

# Two regional indicators make a flag. For each of them the regex module counts back to the first of a row (25,000 flags
# take 10 s), so they are paired beforehand. A letter in a flag's place joins with the same neighbours as the flag.
FLAG = regex.compile(r"[\U0001f1e6-\U0001f1ff]{2}")
GRAPHEME = regex.compile(r"\X")
LONGEST_EMOJI = 16  # code points: a kiss of two people, each with a colour of skin, has ten


def graphemes(text: str) -> int:
    """Return the number of visible characters."""
    return len(text) if text.isascii() and "\r" not in text else GRAPHEME.subn("", FLAG.sub("x", text))[1]


def cut(text: str, characters: int) -> str:
    """Return the first `count` visible characters."""
    for number, grapheme in enumerate(GRAPHEME.finditer(text)):
        if number == characters:
            return text[: grapheme.start()]
    return text


def beginning(text: str, code_points: int) -> str:
    """Return the first code points of a text, without a part of a visible character at their end."""
    if len(text) <= code_points:
        return text
    for found in GRAPHEME.finditer(text[: code_points + LONGEST_EMOJI]):
        start, end = found.span()
        if end > code_points and end - start < LONGEST_EMOJI:
            return text[:start]
    return text[:code_points]  # within a character of very many code points


def counted_length(text: str, spoiler_text: str = "") -> int:
    """Return the length of a status or a biography.

    A link counts as 23 characters, a mention without its domain. A link of another scheme than http and https counts as
    it is written, because apps count it so.
    """
    return graphemes(_weighed(tidy(text))) + graphemes(tidy(spoiler_text))


def is_too_long(text: str, spoiler_text: str = "", limit: int = STATUS_CHARACTERS) -> bool:
    """True if a text has more visible characters than allowed, or more code points than storage takes."""
    if len(text) > TEXT_CODE_POINTS or len(spoiler_text) > SPOILER_CODE_POINTS:
        return True
    return counted_length(text, spoiler_text) > limit


def _weighed(text: str) -> str:
    """Return the text with links and mentions replaced by stand-ins of the length that counts."""
    pieces: list[str] = []
    done = 0
    for entity in find(text):
        if isinstance(entity, FoundLink) and entity.is_of_the_web:
            pieces += [text[done : entity.start], "x" * URL_WEIGHT]
        elif isinstance(entity, FoundMention):
            pieces += [text[done : entity.start], "@", entity.name]
        else:
            continue
        done = entity.end
    return "".join([*pieces, text[done:]])
