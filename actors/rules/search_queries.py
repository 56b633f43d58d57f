"""The language of searches for statuses: words, quoted phrases, and operators such as `from:me`, each also with `-`."""

from __future__ import annotations

from calendar import isleap, monthrange
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Literal

import regex

from ..kernel import first_id_at
from .instants import LAST, instant_of
from .languages import language_code
from .scan import whole_hashtag

# Characters and parts of a search that are read. People write fewer, and each part costs a look-up.
LONGEST_QUERY = 2_000
MOST_PARTS = 64

Place = Literal["all", "library", "public"]
PLACES: dict[str, Place] = {"all": "all", "library": "library", "public": "public"}
OTHER_PLACE: dict[Place, Place] = {"all": "all", "library": "public", "public": "library"}

# `has` and `is` are two names of the same operator.
PROPERTIES = frozenset({"audio", "embed", "image", "link", "media", "poll", "quote", "reply", "sensitive", "video"})

ABOVE_EVERY_ID = 2**63 - 1

# Quotation marks as keyboards write them. A mark that is never closed is part of a word.
PHRASES = (
    ('"', '"'), ("\u201c\u201d\u201e", "\u201c\u201d\u201e"), ("«»", "«»"), ("「", "」"), ("『", "』"), ("《", "》"),
)  # fmt: skip
MONTH = regex.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2}))?")
PART = regex.compile(
    r"(?P<sign>[+-])?+ (?: (?P<name>has|is|language|from|before|after|during|in) : (?=\S) )? (?:"
    + " | ".join(f"[{start}] (?P<phrase>[^{start}{end}]*+) [{end}]" for start, end in PHRASES)
    + r" | (?P<term>\S++) )",
    regex.VERBOSE | regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SoughtText:
    """Consecutive words, or a hashtag by its name. A status must have them, or not if `negated`."""

    text: str
    negated: bool = False
    is_hashtag: bool = False


@dataclass(frozen=True, slots=True)
class SoughtMark:
    """A property (`has`), a language, or an author by `me` or a handle. A status must have it, or not if `negated`."""

    kind: Literal["has", "language", "from"]
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SearchedStatuses:
    """A search for statuses as it was written.

    Ids are at or above `low`, below `high`, and in none of the stretches `without` (low, high).
    """

    texts: tuple[SoughtText, ...] = ()
    marks: tuple[SoughtMark, ...] = ()
    low: int = 0
    high: int = ABOVE_EVERY_ID
    without: tuple[tuple[int, int], ...] = ()
    place: Place = "all"

    @property
    def restricts(self) -> bool:
        """True if operators alone say which statuses are meant."""
        return bool(self.marks or self.without or self.place != "all" or self.low > 0 or self.high < ABOVE_EVERY_ID)


@dataclass(slots=True)
class _FoundParts:
    texts: list[SoughtText] = field(default_factory=list[SoughtText])
    marks: list[SoughtMark] = field(default_factory=list[SoughtMark])
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    without: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    place: Place = "all"


def read_search(query: str) -> SearchedStatuses:
    """Read a search. Unknown operators, and operators with an invalid value, count as words.

    Days are days of UTC.
    """
    reading = _FoundParts()
    for number, part in enumerate(PART.finditer(query[:LONGEST_QUERY])):
        if number == MOST_PARTS:
            break
        _read(reading, part)
    return SearchedStatuses(
        tuple(reading.texts),
        tuple(reading.marks),
        max((low for low, _ in reading.spans), default=0),
        min((high for _, high in reading.spans), default=ABOVE_EVERY_ID),
        tuple(reading.without),
        reading.place,
    )


def _read(reading: _FoundParts, part: regex.Match[str]) -> None:
    negated = part["sign"] == "-"
    phrases = part.captures("phrase")
    text = phrases[0] if phrases else part["term"]
    name = (part["name"] or "").lower()
    if name and _read_operator(reading, name, text, negated=negated):
        return
    if not name and not phrases and (hashtag := whole_hashtag(text)) is not None and text[0] in "#\uff03":
        reading.texts.append(SoughtText(hashtag.name, negated, is_hashtag=True))
        return
    reading.texts.append(SoughtText(f"{name} {text}" if name else text, negated))


def _read_operator(reading: _FoundParts, name: str, value: str, *, negated: bool) -> bool:
    """Note an operator. False if its value is not valid."""
    if name in ("before", "after", "during"):
        return _read_time(reading, name, value, negated=negated)
    folded = value.strip().lower()
    if name == "in":
        if (place := PLACES.get(folded)) is None:
            return False
        reading.place = OTHER_PLACE[place] if negated else place
        return True
    if name in ("has", "is"):
        if folded not in PROPERTIES:
            return False
        reading.marks.append(SoughtMark("has", folded, negated))
    elif name == "language":
        if (code := language_code(value)) is None:
            return False
        reading.marks.append(SoughtMark("language", code.lower(), negated))
    else:
        reading.marks.append(SoughtMark("from", value.strip(), negated))
    return True


def _read_time(reading: _FoundParts, name: str, value: str, *, negated: bool) -> bool:
    span = _span_of(value.strip())
    if span is None:
        return False
    start, end = span
    if name == "during":
        (reading.without if negated else reading.spans).append((start, end))
    elif (name == "before") != negated:
        reading.spans.append((0, start if name == "before" else end))
    else:
        reading.spans.append((end if name == "after" else start, ABOVE_EVERY_ID))
    return True


def _span_of(value: str) -> tuple[int, int] | None:
    """Return the first id of a year, month, day, time, or millisecond since 1970, and the first id after it.

    None for another value.
    """
    try:
        if (found := MONTH.fullmatch(value)) is not None:
            year, month = int(found["year"]), int(found["month"] or 1)
            start = datetime(year, month, 1, tzinfo=UTC)
            length = timedelta(days=(monthrange(year, month)[1] if found["month"] else 365 + isleap(year)))
        elif value.isdecimal():
            start, length = datetime.fromtimestamp(int(value) / 1000, UTC), timedelta(milliseconds=1)
        else:
            instant = instant_of(value)
            if instant is None or not value[:4].isdecimal():
                return None
            is_day = "T" not in value.upper() and instant.time() == time(0)
            start, length = instant, timedelta(days=1) if is_day else timedelta(milliseconds=1)
    except (ValueError, OverflowError, OSError):
        return None
    return _id_at(start), _id_at(start + min(length, LAST - start))


def _id_at(instant: datetime) -> int:
    return max(0, min(first_id_at(instant), ABOVE_EVERY_ID))
