"""Reading uploaded CSV files as programs and spreadsheets write them, and naming the kind of other files.

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
from contextlib import suppress

from .identity import INVISIBLE

MOST_CELLS = 16  # of a row that are read
SEPARATORS = (",", ";", "\t")
# A first line that names the separator for spreadsheets.
SEPARATOR_LINE = re.compile(r"\A\"?sep=(.)\"?[ \t,;]*(?:\r\n|\r|\n|\Z)", re.IGNORECASE)
END_OF_FILE = "\x1a"  # that programs of DOS write behind the last line
BLANK = " \t\r\n\u00a0" + END_OF_FILE + INVISIBLE

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
# The beginning of pictures, sounds and films whose first bytes are the size of their first part.
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
    if (kind := kind_without_text(file)) is not None:
        raise _no_csv(kind)
    text = _decoded(file).lstrip("\ufeff")
    if (found := MARKUP.match(text)) is not None:
        raise _no_csv("an XML file" if found["xml"] else "an HTML page")
    if _is_json(text):
        raise _no_csv("a JSON file")
    return text


def kind_without_text(file: bytes) -> str | None:
    """Return the kind of a file that is no text, in words. None if it may be text."""
    if PARTS.match(file):
        return "a picture, a sound or a film"
    return next((name for beginning, name in BEGINNINGS if file.startswith(beginning)), None)


def utf_of(file: bytes) -> str:
    """Return the encoding of a text: UTF-16 if it has a mark or can only be that, else UTF-8."""
    if file.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark, UTF-16 is recognised by a zero byte in each letter.
    start = file[:200]
    for half, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(start) >= 8 and not any(start[half::2]) and all(start[1 - half :: 2]):
            return encoding
    return "utf-8"


def unwrapped(text: str) -> str | None:
    """Return a text in which each row is a single quoted cell, without these quotes. None for other texts.

    Spreadsheets write them if they read each row of a file with other separators as a single cell.
    """
    if not text.startswith('"'):
        return None
    rows: list[str] = []
    try:
        for cells in csv.reader(io.StringIO(text, newline="")):
            if len(cells) > 1:
                return None
            rows.extend(cells or [""])
    except csv.Error:
        return None
    return "\n".join(rows) if any(sign in rows[0] for sign in SEPARATORS) else None


def separator_line(text: str) -> tuple[str, str] | None:
    """Return the separator that the first line of a text names, and the text after this line."""
    found = SEPARATOR_LINE.match(text)
    return None if found is None else (found[1], text[found.end() :])


def rows_of(text: str, separator: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the rows that are not empty, with the numbers of their lines from 1. Raises UnreadableFile."""
    lines = io.StringIO(with_end(text.rstrip(BLANK)), newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    number, start, cells = 1, 1, list[str]()
    try:
        for cells in reader:
            row = [cell.strip(BLANK) for cell in cells[:MOST_CELLS]]
            if any(row):
                yield number, row
            start, number = number, reader.line_num + 1
    except csv.Error:
        raise UnreadableFile(f"Line {number} can't be read as CSV.") from None
    if not is_end(cells):
        raise UnreadableFile(f"Line {start} is no text: its quotation mark is not closed. Nothing was changed.")


def with_end(text: str) -> str:
    """Return a text with an added last row. If `is_end` finds this row, no quotation mark before it was left open.

    The rows after an open quotation mark are part of its cell, and would be lost without an error.
    """
    return f"{text}\n{END_OF_FILE}"


def is_end(last: Sequence[str]) -> bool:
    return last == [END_OF_FILE]


def _no_csv(name: str) -> UnreadableFile:
    return UnreadableFile(f"This is {name}, and not a CSV file. Nothing was changed.")


def _decoded(file: bytes) -> str:
    encoding = utf_of(file)
    # windows-1252 is a superset of the letters of Latin-1.
    for name in (encoding,) if encoding != "utf-8" else (encoding, "windows-1252"):
        with suppress(UnicodeDecodeError):
            return file.decode(name)
    raise UnreadableFile("This is not a CSV file in UTF-8. Nothing was changed.")


def _is_json(text: str) -> bool:
    """True for JSON, also for a value on each line. The name of a list may begin with a bracket."""
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
