"""Reading uploaded CSV files as programs and spreadsheets write them, and saying what a file is that is none.

Spreadsheets separate cells by commas, semicolons or tabs, as the language of the computer has it, and may write the
encoding of the system.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence

from .identity import INVISIBLE

MOST_CELLS = 16  # of a row that are read
SEPARATORS = (",", ";", "\t")
# A first line by which spreadsheets are told the separator.
SEPARATOR_LINE = re.compile(r"\A\"?sep=(.)\"?[ \t,;]*(?:\r\n|\r|\n|\Z)", re.IGNORECASE)
BLANK = " \t\r\n\u00a0" + INVISIBLE

# How files of other kinds begin. Spreadsheets of today are ZIP archives.
BEGINNINGS = (
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet of Excel"),
    (b"\x1f\x8b", "a compressed archive"),
    (b"BZh", "a compressed archive"),
    (b"7z\xbc\xaf", "a compressed archive"),
    (b"Rar!", "a compressed archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"II*\0", "a picture"),
    (b"MM\0*", "a picture"),
    (b"OggS", "a sound"),
    (b"{\\rtf", "an RTF document"),
    (b"SQLite format 3", "a database"),
)
# What files of pictures, sounds and films have after the size of their first part.
PARTS = re.compile(rb"....ftyp|RIFF....(?:WEBP|WAVE|AVI )|BM....\0\0\0\0", re.DOTALL)
MARKUP = re.compile(
    r"\s*<(?:(?P<xml>\?xml|svg|opml|rss)\b|(?:!doctype|html|head|body)\b|!--|[a-z][a-z0-9]*[\s/>].*</)",
    re.IGNORECASE | re.DOTALL,
)
JSON_START = re.compile(r"\s*[\[{]")


class UnreadableFile(Exception):
    """Raised for a file that can't be imported, with the reason as a sentence."""


def text_of(file: bytes) -> str:
    """Return the text of a file. Raises UnreadableFile, with the name of the kind for a file that is no text."""
    for beginning, name in BEGINNINGS:
        if file.startswith(beginning):
            raise _no_csv(name)
    if PARTS.match(file):
        raise _no_csv("a picture, a sound or a film")
    text = _decoded(file).lstrip("\ufeff")
    if (found := MARKUP.match(text)) is not None:
        raise _no_csv("an XML file" if found["xml"] else "an HTML page")
    if _is_json(text):
        raise _no_csv("a JSON file")
    return text


def separator_line(text: str) -> tuple[str, str] | None:
    """Return the separator that the first line of a text names, and the text after this line."""
    found = SEPARATOR_LINE.match(text)
    return None if found is None else (found[1], text[found.end() :])


def rows_of(text: str, separator: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows that are not empty, with the numbers of their lines from 1. Raises UnreadableFile."""
    text = text.rstrip(BLANK)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    number = 1
    try:
        for cells in reader:
            row = [cell.strip(BLANK) for cell in cells[:MOST_CELLS]]
            if any(row):
                yield number, row
            number = reader.line_num + 1
    except csv.Error:
        raise UnreadableFile(f"Line {number} can't be read as CSV.") from None


def _no_csv(name: str) -> UnreadableFile:
    return UnreadableFile(f"This is {name}, and not a CSV file. Nothing was changed.")


def _decoded(file: bytes) -> str:
    try:
        if file.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return file.decode("utf-16")
        # Without a mark, UTF-16 is seen by the zeros in the place of one half of each letter.
        start = file[:200]
        for half, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
            if len(start) >= 8 and not any(start[half::2]) and all(start[1 - half :: 2]):
                return file.decode(encoding)
    except UnicodeDecodeError:
        raise UnreadableFile("This is not a CSV file in UTF-8. Nothing was changed.") from None
    try:
        return file.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return file.decode("windows-1252")  # a superset of the letters of Latin-1
    except UnicodeDecodeError:
        raise UnreadableFile("This is not a CSV file in UTF-8. Nothing was changed.") from None


def _is_json(text: str) -> bool:
    """True for JSON, also for one value a line. The name of a list may begin with a bracket."""
    if JSON_START.match(text) is None:
        return False
    stripped = text.lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(stripped)
    except RecursionError:
        return True
    except ValueError:
        return False
    return stripped[end:].lstrip()[:1] in ("", "[", "{")
