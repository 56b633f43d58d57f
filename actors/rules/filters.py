"""Matching the filters of an account with a status.

Keywords are plain text and never patterns. One pass over the text searches for all of them, and its time does not
grow with their number: words are looked up in the set of the text's words, an automaton finds phrases. Upper and lower
case are equal, and so are signs that keyboards exchange. Word boundaries follow the contract: letters, marks,
decimal digits and connector punctuation of every script belong to words. Both the text and the keywords get a mark at
each boundary, so that a keyword that stands for whole words is searched for together with the marks around it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from sys import getsizeof

import regex

from ...storage.filters import Filter, FilterKeyword
from ...storage.statuses import Status
from .markup import plain, shortened

# Of a status: more than the longest text of this server with its poll and the descriptions of four media.
TEXT_CHARACTERS = 10_000
# Of its HTML, in which links are several times as long as their visible text.
HTML_CHARACTERS = 40_000
# Up to so many phrases are searched for without the automaton, which is faster.
FEW_PHRASES = 16
BYTES_OF_A_WORD = 120  # in a set
# Statuses for which the filters of a viewer remember their matches.
FOUND_KEPT = 2_000

# Between the parts of a status, so that no phrase is found across two of them, and at the boundaries of words. No text
# that people write has these control characters.
BETWEEN_PARTS = "\x01"
BOUNDARY = "\0"

# A flag is a word too, because two flags side by side contain a third: Brazil and the USA contain Russia.
WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}\p{Pc}]+|\p{Regional_Indicator}{2}")
MARKED_WORD = rf"{BOUNDARY}\g<0>{BOUNDARY}"
SPACE = regex.compile(r"\s+")
# Characters that a reader does not see and that must not hide a word: soft hyphens, joiners, marks of direction, and
# the selector of the variant of an emoji, which would be a mark of the word behind it.
INVISIBLE = regex.compile(r"[\0\p{Default_Ignorable_Code_Point}]+")

# Characters that are typed in place of other characters: phones write curly quotation marks, input methods write
# characters of full width, and Turkish keyboards have an I with and an I without a dot in both cases.
SAME = (
    dict.fromkeys("\u0130\u0131", "i")
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2010\u2011", "-")
    | {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
)
SAME_CHARACTERS = str.maketrans(SAME)


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
    """A keyword of more than one word, or of parts of words. `first` is a word that the text must have."""

    place: int  # of its filter
    needle: str
    first: str | None


class _Index:
    """An index of filters, by which statuses are searched for them. Filters have places instead of ids."""

    def __init__(self, rows: Sequence[Filter]) -> None:
        self._words: dict[str, list[int]] = {}  # keywords that are a whole word
        self._phrases: list[_Phrase] = []  # all others
        self._named: dict[int, list[int]] = {}  # statuses
        self._found: dict[int, tuple[datetime | None, Mapping[int, str]]] = {}  # by statuses, with their last edits
        for place, row in enumerate(rows):
            for keyword in row.keywords:
                self._add(place, keyword)
            for entry in row.statuses:
                self._named.setdefault(entry.status_id, []).append(place)
        self._single = frozenset(self._words)
        self._automaton: _Automaton | None = None  # made when it is first needed

    def knows(self, status: Status) -> bool:
        """True if the status was searched since its last edit."""
        known = self._found.get(status.id)
        return known is not None and known[0] == status.edited_at

    def find(self, status: Status, text_of: TextOf) -> Mapping[int, str]:
        """Return the matches in the text of a status. They are remembered until the status is edited."""
        known = self._found.get(status.id)
        if known is not None and known[0] == status.edited_at:
            return known[1]
        text = text_of(status)
        found = written_at(self._search(text), text, status)
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
            self._phrases.append(_Phrase(place, needle, words[0] if words else None))

    def _search(self, text: FilterText) -> dict[int, tuple[int, str]]:
        """Return the first needle of each filter in a text, with its position."""
        found: dict[int, tuple[int, str]] = {}

        def note(place: int, needle: str, position: int) -> None:
            if place not in found or (position, needle) < found[place]:
                found[place] = position, needle

        for word in self._single & text.words:
            needle = marked_word(word)
            position = text.marked.index(needle)
            for place in self._words[word]:
                note(place, needle, position)
        possible = [phrase for phrase in self._phrases if phrase.first is None or phrase.first in text.words]
        if len(possible) > FEW_PHRASES:
            self._automaton = self._automaton or _Automaton(phrase.needle for phrase in self._phrases)
            positions = self._automaton.first_positions(text.marked)
        else:
            positions = {phrase.needle: text.marked.find(phrase.needle) for phrase in possible}
        for phrase in possible:
            if (position := positions.get(phrase.needle, -1)) >= 0:
                note(phrase.place, phrase.needle, position)
        return found


class _Automaton:
    """Finds any number of needles in one pass over a text (Aho and Corasick, 1975).

    Each state is the longest start of a needle that the text read so far ends with.
    """

    def __init__(self, needles: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._ending: list[str | None] = [None]  # the needle that a state is the whole of
        for needle in needles:
            state = 0
            for character in needle:
                if (following := self._next[state].get(character)) is None:
                    following = self._next[state][character] = len(self._next)
                    self._next.append({})
                    self._ending.append(None)
                state = following
            self._ending[state] = needle
        self._shorter = [0] * len(self._next)  # the longest other state that is a suffix of a state
        self._whole = [0] * len(self._next)  # the longest suffix of a state that is a needle
        self._link()

    def first_positions(self, text: str) -> dict[str, int]:
        """Return the first position of each needle that the text has."""
        following, shorter, whole = self._next, self._shorter, self._whole
        found: dict[str, int] = {}
        noted = {0}  # states whose needles were found before
        state = 0
        for position, character in enumerate(text):
            while (reached := following[state].get(character)) is None and state:
                state = shorter[state]
            state = reached or 0
            ending = whole[state]
            while ending not in noted:
                noted.add(ending)
                needle = self._ending[ending] or ""
                found[needle] = position + 1 - len(needle)
                ending = whole[shorter[ending]]
        return found

    def _link(self) -> None:
        """Fill in where each state goes on when no needle goes on with the next character, shortest states first."""
        states = [0]
        for state in states:
            for character, following in self._next[state].items():
                states.append(following)
                if state:
                    before = self._shorter[state]
                    while before and character not in self._next[before]:
                        before = self._shorter[before]
                    self._shorter[following] = self._next[before].get(character, 0)
                needle = self._ending[following]
                self._whole[following] = self._whole[self._shorter[following]] if needle is None else following


class _Indexed:
    """The base of `Filters`, with attributes that are not fields, so that they are not compared."""

    __slots__ = ("_hiding", "_index")

    _hiding: frozenset[str]  # contexts
    _index: _Index


@dataclass(frozen=True, slots=True)
class Filters(_Indexed):
    """The filters of an account, prepared for searching. A change makes a new object."""

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

    def has_searched(self, status: Status) -> bool:
        """True if the matches of the filters in the text of a status are remembered."""
        return self._index.knows(status)

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
    """True if a matching filter hides the status in this context."""
    return any(match.filter.action == "hide" and context in match.filter.contexts for match in matches)


def says_something(keyword: str) -> bool:
    """True if the keyword has visible characters. An invisible keyword would match every status."""
    return bool(folded(keyword).strip())


def filter_text(status: Status) -> FilterText:
    """Return the text of a status for its filters."""
    marked = mark(_without_case(readable(status)))
    return FilterText(marked, frozenset(words_of(marked)))


def readable(status: Status) -> str:
    """Return the whole readable text of a status: warning, content, poll and descriptions of media."""
    parts = [status.spoiler_text, plain(shortened(status.content, HTML_CHARACTERS))]
    if status.poll is not None:
        parts += [option.title for option in status.poll.options]
    parts += [medium.description for medium in status.media if medium.description]
    return cleaned(BETWEEN_PARTS.join(parts)[:TEXT_CHARACTERS])


def cleaned(text: str) -> str:
    """Return the text in composed characters, without invisible characters, and with single spaces."""
    return SPACE.sub(" ", unicodedata.normalize("NFC", INVISIBLE.sub("", text)))


def folded(text: str) -> str:
    return _without_case(cleaned(text))


def _without_case(text: str) -> str:
    return text.translate(SAME_CHARACTERS).casefold()


def mark(text: str) -> str:
    """Return the text with a mark on both sides of each word."""
    return WORD.sub(MARKED_WORD, text)


def marked_word(word: str) -> str:
    return f"{BOUNDARY}{word}{BOUNDARY}"


def words_of(marked: str) -> list[str]:
    """Return the words of a marked text: every second piece between marks."""
    return marked.split(BOUNDARY)[1::2]


def needle_of(keyword: FilterKeyword) -> str:
    """Return a keyword as it is written in a marked text."""
    marked = mark(folded(keyword.keyword).strip())
    return marked if keyword.whole_word else marked.strip(BOUNDARY)


def written_at(found: Mapping[int, tuple[int, str]], text: FilterText, status: Status) -> Mapping[int, str]:
    """Return the needles that were found in the text of a status as they are written there."""
    if not found:
        return {}
    written = readable(status)
    # Some characters are folded into several: where each of them ends in the folded text.
    ends = (
        None
        if len(_without_case(written)) == len(written)
        else list(accumulate(len(_without_case(sign)) for sign in written))
    )

    def at(folded_position: int) -> int:
        return folded_position if ends is None else bisect_right(ends, folded_position)

    pieces: dict[tuple[int, str], str] = {}
    for start, needle in set(found.values()):
        first = start - text.marked.count(BOUNDARY, 0, start)
        last = first + len(needle.replace(BOUNDARY, "")) - 1
        pieces[start, needle] = written[at(first) : at(last) + 1]
    return {place: pieces[match] for place, match in found.items()}
