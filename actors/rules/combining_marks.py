"""A limit on combining marks: hundreds of them on a letter ("zalgo") cover the lines around a text.

Every text that people write passes `bounded`, and every HTML `bounded_html`. Removing marks leaves the number of
characters as it was, except that a virama behind eight other marks can join two consonants. The limits of a text are
checked on the bounded text, which is stored.
"""

import regex

from .limits import TEXT_CODE_POINTS

# The longest run that is known in use has eight marks on one letter: a Tibetan monogram of the Kalachakra. Biblical
# Hebrew with points and accents has up to seven, decomposed Vietnamese and polytonic Greek up to four. Unicode's
# stream-safe format (UAX 15) allows 30, which limits the work of programs but not the height of a line.
MOST_MARKS = 8

# Marks that extend the character before them. A few spacing marks count as characters of their own and need no limit.
MARK = r"[\p{M}&&[\p{GCB=Extend}\p{GCB=SpacingMark}]]"
# These do not end a stack: joiners and other format characters that belong to the character before them, and HTML tags.
# Other format characters count as characters, so the limits of a text apply to marks behind them.
UNSEEN = r"[\p{Cf}&&[\p{GCB=Extend}\p{GCB=ZWJ}]]"
UNSEEN_OR_TAG = rf"(?:{UNSEEN}|<[^<>]*+>)"

MARKS = regex.compile(rf"{MARK}++", regex.VERSION1)
# What follows the first mark of a stack. The regex module reads it five times as fast as it counts marks.
AFTER_MARK = regex.compile(r"(?<=\p{M})[\p{M}\p{Cf}]++", regex.VERSION1)


def _excess(between: str) -> "regex.Pattern[str]":
    # Only the first mark of a row is tried: a letter with eight marks would be read eight times.
    return regex.compile(
        rf"(?<!{MARK})(?P<kept>(?:{MARK}{between}*+){{{MOST_MARKS}}})(?P<rest>(?:{MARK}|{between})++)", regex.VERSION1
    )


EXCESS = _excess(UNSEEN)
EXCESS_IN_HTML = _excess(UNSEEN_OR_TAG)


def bounded(text: str) -> str:
    """Return the text without the marks that follow the first eight on one character.

    No stored text has more than `TEXT_CODE_POINTS`. Stacks behind these keep their first mark: 1 MiB would keep the
    event loop for 80 ms.
    """
    if text.isascii():
        return text
    head, tail = text[:TEXT_CODE_POINTS], text[TEXT_CODE_POINTS:]
    return EXCESS.sub(_cut, head) + AFTER_MARK.sub("", tail)


def bounded_html(html: str) -> str:
    """Return sanitised HTML, bounded in the same way. Tags between marks do not end a stack."""
    return html if html.isascii() else EXCESS_IN_HTML.sub(_cut, html)


def _cut(found: "regex.Match[str]") -> str:
    return found["kept"] + MARKS.sub("", found["rest"])
