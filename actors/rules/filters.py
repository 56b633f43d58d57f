"""Matching the filters of an account with a status.

Keywords are plain text and never patterns: every search is a search for a substring, and `limits.py` bounds how many
characters the keywords of one account have, so no keyword and no status makes a search expensive. A keyword is only
searched for if the text has all words, or all pieces of three characters, that it consists of. An automaton for all
keywords (Aho-Corasick) was turned down: it reports each of the keywords `a`, `aa`, `aaa`, … at each place of `aaaa…`.

Upper and lower case are equal. Word boundaries are those of the contract: letters, marks, decimal digits and connector
punctuation of every script belong to words. Both the text and the keywords get a mark at each boundary, so that a
keyword that stands for whole words is searched for together with the marks around it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from sys import getsizeof

import regex

from ...storage.filters import Filter, FilterKeyword
from ...storage.statuses import Status
from .markup import plain

# Of a status: more than the longest text of this server with its poll and the descriptions of four media.
TEXT_CHARACTERS = 10_000
HTML_CHARACTERS = 4 * TEXT_CHARACTERS  # in which they are looked for
FEW_PHRASES = 50  # up to so many are searched for one by one: making the pieces of a text costs as much as 50 searches
BYTES_OF_A_WORD = 120  # in a set
# Statuses of which one viewer's filters remember what they found.
FOUND_KEPT = 2_000

# Between the parts of a status, so that no phrase is found across two of them, and at the boundaries of words. No text
# that people write has these control characters.
BETWEEN_PARTS = "\x01"
BOUNDARY = "\0"

WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}\p{Pc}]+")
MARKED_WORD = rf"{BOUNDARY}\g<0>{BOUNDARY}"
SPACE = regex.compile(r"\s+")
# What a reader does not see, and what may not hide a word: soft hyphens, joiners, marks of direction.
INVISIBLE = regex.compile(r"[\0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+")


@dataclass(frozen=True, slots=True)
class FilterText:
    """The text of a status as filters search it: folded, with boundaries marked, and the words in it."""

    marked: str
    words: frozenset[str]

    @property
    def weight(self) -> int:
        """About how many bytes it takes in memory."""
        return getsizeof(self.marked) + BYTES_OF_A_WORD * len(self.words)


TextOf = Callable[[Status], FilterText]


@dataclass(frozen=True, slots=True)
class FilterMatch:
    """A filter that matches a status: by a part of its text, because it names the status, or both."""

    filter: Filter
    text: str | None
    status_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A keyword of more than one word, or of parts of words. A text must have its pieces."""

    place: int  # of its filter
    needle: str
    pieces: frozenset[str]


class _Index:
    """An index of filters, by which statuses are searched for them. Filters have places instead of ids."""

    def __init__(self, rows: Sequence[Filter]) -> None:
        self._words: dict[str, list[int]] = {}  # keywords that are one whole word
        self._phrases: list[_Phrase] = []  # all others
        self._named: dict[int, list[int]] = {}  # statuses
        self._found: dict[int, tuple[datetime | None, Mapping[int, str]]] = {}  # by statuses, with their last edits
        for place, row in enumerate(rows):
            for keyword in row.keywords:
                self._add(place, keyword)
            for entry in row.statuses:
                self._named.setdefault(entry.status_id, []).append(place)
        self._single = frozenset(self._words)

    def find(self, status: Status, text_of: TextOf) -> Mapping[int, str]:
        """Return what stands in the text of a status. It is remembered until the status is edited."""
        known = self._found.get(status.id)
        if known is not None and known[0] == status.edited_at:
            return known[1]
        text = text_of(status)
        matching = self._search(text)
        written = WrittenText(status) if matching else None
        found = {place: written.first_of(needles, text) for place, needles in matching.items()} if written else {}
        self._found[status.id] = status.edited_at, found
        if len(self._found) > FOUND_KEPT:
            del self._found[next(iter(self._found))]
        return found

    def named(self, *ids: int | None) -> Mapping[int, list[int]]:
        """Return which of these statuses the filters name."""
        named: dict[int, list[int]] = {}
        for id in ids if self._named else ():
            for place in self._named.get(id or 0, ()):
                named.setdefault(place, []).append(id or 0)
        return named

    def _add(self, place: int, keyword: FilterKeyword) -> None:
        needle = needle_of(keyword)
        words = words_of(needle) if keyword.whole_word else []
        if words and needle == marked_word(words[0]):
            self._words.setdefault(words[0], []).append(place)
        elif needle:
            self._phrases.append(_Phrase(place, needle, pieces_of(needle)))

    def _search(self, text: FilterText) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for word in self._single & text.words:
            for place in self._words[word]:
                found.setdefault(place, []).append(marked_word(word))
        # The pieces are not kept with the text, because they take more memory than it.
        pieces = pieces_of(text.marked) if len(self._phrases) > FEW_PHRASES else None
        for phrase in self._phrases:
            if (pieces is None or phrase.pieces <= pieces) and phrase.needle in text.marked:
                found.setdefault(phrase.place, []).append(phrase.needle)
        return found


class _Indexed:
    """The base of `Filters`, for what is no field of it and not compared."""

    __slots__ = ("_hiding", "_index")

    _hiding: frozenset[str]  # contexts
    _index: _Index


@dataclass(frozen=True, slots=True)
class Filters(_Indexed):
    """The filters of one account, prepared for searching. A change makes new ones."""

    rows: tuple[Filter, ...] = ()

    def __post_init__(self) -> None:
        hiding = frozenset(context for row in self.rows if row.action == "hide" for context in row.contexts)
        object.__setattr__(self, "_hiding", hiding)
        object.__setattr__(self, "_index", _Index(self.rows))

    def __bool__(self) -> bool:
        return bool(self.rows)

    def find(self, id: int) -> Filter | None:
        return next((row for row in self.rows if row.id == id), None)

    def with_keyword(self, id: int) -> Filter | None:
        """Return the filter that has the keyword with this id."""
        return next((row for row in self.rows if any(keyword.id == id for keyword in row.keywords)), None)

    def with_status(self, id: int) -> Filter | None:
        """Return the filter that has the entry with this id, which names a status."""
        return next((row for row in self.rows if any(entry.id == id for entry in row.statuses)), None)

    def may_hide(self, context: str) -> bool:
        """True if a filter hides statuses in this context, be it expired or not."""
        return context in self._hiding

    def matches(self, status: Status, boost_id: int | None, text_of: TextOf, now: datetime) -> tuple[FilterMatch, ...]:
        """Return the matches of the filters that have not expired. `boost_id` is a boost of the status."""
        found, named = self._index.find(status, text_of), self._index.named(status.id, boost_id)
        if not found and not named:
            return ()
        return tuple(
            FilterMatch(row, found.get(place), tuple(named.get(place, ())))
            for place in sorted(found.keys() | named.keys())
            if not is_expired(row := self.rows[place], now)
        )


NO_FILTERS = Filters()


def is_expired(row: Filter, now: datetime) -> bool:
    return row.expires_at is not None and row.expires_at <= now


def hides(matches: Sequence[FilterMatch], context: str) -> bool:
    """True if one of the filters hides what it matches in this context."""
    return any(match.filter.action == "hide" and context in match.filter.contexts for match in matches)


def says_something(keyword: str) -> bool:
    """True if the keyword has visible characters. An invisible keyword would match every status."""
    return bool(folded(keyword).strip())


def filter_text(status: Status) -> FilterText:
    """Return the text of a status for its filters."""
    marked = mark(readable(status).casefold())
    return FilterText(marked, frozenset(words_of(marked)))


def readable(status: Status) -> str:
    """Return all that one reads in a status: warning, content, poll and descriptions of media."""
    parts = [status.spoiler_text, plain(status.content[:HTML_CHARACTERS])]
    if status.poll is not None:
        parts += [option.title for option in status.poll.options]
    parts += [medium.description for medium in status.media if medium.description]
    return cleaned(BETWEEN_PARTS.join(parts)[:TEXT_CHARACTERS])


def cleaned(text: str) -> str:
    """Return the text in composed characters, without invisible ones, and with single spaces."""
    return SPACE.sub(" ", unicodedata.normalize("NFC", INVISIBLE.sub("", text)))


def folded(text: str) -> str:
    return cleaned(text).casefold()


def mark(text: str) -> str:
    """Return the text with a mark on both sides of each word."""
    return WORD.sub(MARKED_WORD, text)


def marked_word(word: str) -> str:
    return f"{BOUNDARY}{word}{BOUNDARY}"


def pieces_of(marked: str) -> frozenset[str]:
    """Return all pieces of three characters of a text; none for a shorter one."""
    return frozenset(map(str.__add__, map(str.__add__, marked, marked[1:]), marked[2:]))


def words_of(marked: str) -> list[str]:
    """Return the words of a marked text: every second piece between marks is one."""
    return marked.split(BOUNDARY)[1::2]


def needle_of(keyword: FilterKeyword) -> str:
    """Return what a marked text has where the keyword stands in it."""
    marked = mark(folded(keyword.keyword).strip())
    return marked if keyword.whole_word else marked.strip(BOUNDARY)


class WrittenText:
    """The text of a status as it is written, in which the places of the folded text are found."""

    def __init__(self, status: Status) -> None:
        self._written = readable(status)
        # Some characters are folded into several: then, where each character of the text ends in the folded one.
        self._ends: list[int] | None = None
        if len(self._written.casefold()) != len(self._written):
            self._ends = list(accumulate(len(character.casefold()) for character in self._written))

    def first_of(self, needles: Sequence[str], text: FilterText) -> str:
        """Return the first of these in the text, as it is written there."""
        start, needle = min((text.marked.index(needle), needle) for needle in needles)
        start -= text.marked.count(BOUNDARY, 0, start)
        last = start + len(needle.replace(BOUNDARY, "")) - 1
        return self._written[self._position(start) : self._position(last) + 1]

    def _position(self, folded_position: int) -> int:
        return folded_position if self._ends is None else bisect_right(self._ends, folded_position)
