"""Words of texts and of searches.

One tokeniser makes the words that are stored with statuses, accounts and hashtags, and the words of a search.
PostgreSQL only compares them: its own parser takes each character above 127 for a letter in the locale of the embedded
cluster, sees no words in texts without spaces, and differs from one cluster to the next.

A text is folded first (case, width, accents), then cut by Unicode's classes. Signs separate words, so each part of
`Linux/macOS`, `foo_bar` or `3.14` is found; a search for the whole is a search for its parts in this order. In scripts
without spaces only a dictionary could tell the words apart: there each character and each two neighbours are stored,
and a search for more is a search for their pairs in this order. Hangul is cut so as well, because its particles are
written together with the word.

The work grows only with the length of the text: the longest that is read takes 15 ms, the worst 25 ms.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

# Characters of a text, or of several that are stored together, that are read; and of a word that are compared.
LONGEST_TEXT = 32_768
LONGEST_WORD = 255
# Words of a text that are read. PostgreSQL counts the places of a `tsvector` up to 16,383, and keeps 255 of one word.
LAST_PLACE = 10_000
PLACES_OF_A_WORD = 255
# Places that are left free between two texts, so that no phrase is found across them.
GAP = 8

# Letters with an accent that Unicode does not split off; and other ways of writing one sound. Keyboards for Arabic,
# Persian and Urdu have different letters for one sign.
UNACCENTED = dict(zip("đðħıĸłŋøŧ", "ddhiklnot", strict=True)) | {"ß": "ss"}
SPELLINGS = str.maketrans(UNACCENTED | {"æ": "ae", "œ": "oe", "þ": "th", "ي": "ی", "ى": "ی", "ك": "ک"})
SHORT_I = "й"  # a letter, not an accented и

# Marks without which a word is the same word: accents, the points of Hebrew, the vowels of Arabic and Syriac, the line
# that stretches a word, the frame of a key. In other scripts a mark makes another word. Characters that are not shown
# are dropped too, except between two words.
DROPPED = regex.compile(
    r"""
        [\u0300-\u036f\u0640\u20e3\p{Emoji_Modifier}]
    |   [\p{Mn}&&[\p{Block=Hebrew}\p{Block=Arabic}\p{Block=Arabic_Supplement}\p{Block=Arabic_Extended_A}
            \p{Block=Syriac}\p{Block=Cyrillic}]]
    |   [\p{Default_Ignorable_Code_Point}--[\u200b\u200c\u3164\uffa0]]
    """,
    regex.VERBOSE | regex.VERSION1,
)

# Chinese, Japanese, Korean, and the scripts for which Unicode asks for a dictionary: Thai, Lao, Khmer, Myanmar and
# their neighbours.
UNSPACED = (
    r"[[\p{Ideographic}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script=Hangul}"
    r"\p{Script=Bopomofo}\p{Line_Break=Complex_Context}]&&[\p{L}\p{M}\p{N}]]"
)
PIECE = regex.compile(
    rf"""
    (?P<unspaced> {UNSPACED} [{UNSPACED}\p{{M}}]*+ )
    |   (?P<word> [[\p{{L}}\p{{N}}]--{UNSPACED}] [[\p{{L}}\p{{N}}\p{{M}}]--{UNSPACED}]*+ )
        (?P<signs> (?: \+\+? | \# ) (?![\w+\#]) )?+
    |   (?P<emoji> \p{{Regional_Indicator}}{{2}} | [\p{{Extended_Pictographic}}--[\u00a9\u00ae\u2122]] )
    """,
    regex.VERBOSE | regex.VERSION1,
)
CHARACTER = regex.compile(r"\P{M}\p{M}*+|\p{M}++")

# Signs inside a word that some write without: `e-mail` is found by `email`, `don't` by `dont`. Points and commas stand
# so between single letters (`U.S.A.`) and digits (`1,000`).
JOINING = frozenset("-\u2010'\u2019\u02bc\u00b7_\u200c&")
JOINING_SINGLE = frozenset(".,")
LONGEST_JOINED = 64

# Left out of addresses, where they say nothing.
SCHEME = regex.compile(r"\bhttps?://(?:www\.)?", regex.IGNORECASE)


class Word(NamedTuple):
    """A word and its place in the text, counted from 0. Several may have one place: `e`, `mail` and, at the place of
    `e`, `email`.

    `spare` is true of words that a search for the text does not need.
    """

    text: str
    place: int
    spare: bool = False


def folded(text: str) -> str:
    """Return the text as words are compared: without differences of case, width and accents."""
    text = text[:LONGEST_TEXT]
    if text.isascii():
        return text.lower()
    # One character can become 18. Kana of half width have their marks apart.
    folding = unicodedata.normalize("NFC", text).translate(FOLDING)[:LONGEST_TEXT]
    return unicodedata.normalize("NFC", folding)


class Folding(dict[int, str]):
    """A cache of the folding of each character. Unicode has 150,000 characters; other code points are not cached."""

    def __missing__(self, code: int) -> str:
        folding = self._fold(chr(code))
        if unicodedata.category(chr(code)) != "Cn":
            self[code] = folding
        return folding

    def _fold(self, character: str) -> str:
        letters = unicodedata.normalize("NFKC", character).casefold()
        if letters == SHORT_I:
            return letters
        letters = DROPPED.sub("", unicodedata.normalize("NFD", letters)).translate(SPELLINGS)
        letters = "".join(str(unicodedata.decimal(letter, letter)) for letter in letters)
        return unicodedata.normalize("NFC", letters)


FOLDING = Folding()


def words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text in the order of their places."""
    text = folded(SCHEME.sub(" ", text[:LONGEST_TEXT]))
    place = 0
    compound: list[regex.Match[str]] = []  # parts of a word that signs join
    for piece in PIECE.finditer(text):
        if place > LAST_PLACE:
            return
        unspaced, word, signs, emoji = piece.groups()
        if compound and not _joins(text, compound[-1], piece):
            if len(compound) > 1:
                yield from _joined(compound, place)
            compound.clear()
        if unspaced:
            characters: list[str] = CHARACTER.findall(unspaced[: LAST_PLACE + 1])
            yield from _pairs(characters, place)
            place += len(characters)
            continue
        if word:
            compound.append(piece)
        yield Word((word or emoji)[:LONGEST_WORD], place, signs is not None)
        if signs:
            yield Word(word[:LONGEST_WORD] + signs, place)
        place += 1
    if len(compound) > 1:
        yield from _joined(compound, place)


def vector(texts: Iterable[str], marks: Iterable[str] = ()) -> str:
    """Return the words of texts as a literal of the type `tsvector`.

    `marks` are added without a place. A mark that begins with a sign is no word of any text.
    """
    places: dict[str, list[int]] = {mark: [] for mark in marks}
    start, room = 1, LONGEST_TEXT
    for text in texts:
        if not room or start > LAST_PLACE:
            break
        last = start
        read = text[:room]
        room -= len(read)
        for word in words_of(read):
            last = start + word.place
            if last > LAST_PLACE:
                break
            of_word = places.setdefault(word.text, [])
            if len(of_word) < PLACES_OF_A_WORD:
                of_word.append(last)
        start = last + GAP
    return " ".join(f"{quoted(word)}:{','.join(map(str, at))}" if at else quoted(word) for word, at in places.items())


def phrase(text: str) -> str:
    """Return the literal of a `tsquery` for a text as a phrase: its words in their order. Empty if it has none."""
    words = list(words_of(text))
    needed = [word for word in words if not word.spare]
    if not needed:
        return ""
    parts = [quoted(needed[0].text)]
    for before, word in pairwise(needed):
        parts += [f"<{word.place - before.place}>", quoted(word.text)]
    whole = " ".join(parts)
    joined = "".join(word.text for word in needed)
    return f"({whole} | {quoted(joined)})" if any(word.spare and word.text == joined for word in words) else whole


def quoted(word: str) -> str:
    """Return a word as it stands in a literal of the types `tsvector` and `tsquery`."""
    if "'" in word or "\\" in word:
        word = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{word}'"


def _pairs(characters: list[str], place: int) -> Iterator[Word]:
    """Yield each two neighbours, and each character, which is only needed for a search for itself."""
    for at, (character, after) in enumerate(pairwise(characters), place):
        yield Word(character, at, spare=True)
        yield Word(character + after, at)
    yield Word(characters[-1], place + len(characters) - 1, spare=len(characters) > 1)


def _joins(text: str, before: "regex.Match[str]", piece: "regex.Match[str]") -> bool:
    if piece.start() - before.end() != 1 or not piece["word"]:
        return False
    sign = text[before.end()]
    if sign in JOINING_SINGLE:
        return len(before[0]) == len(piece[0]) == 1 or (before[0].isdecimal() and piece[0].isdecimal())
    return sign in JOINING


def _joined(compound: "list[regex.Match[str]]", end: int) -> Iterator[Word]:
    """Yield the word that the parts make together, at the place of the first part."""
    word = "".join(part["word"] for part in compound[:LONGEST_JOINED])
    if len(word) <= LONGEST_JOINED:
        yield Word(word, end - len(compound), spare=True)
