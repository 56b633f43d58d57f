"""Reading the CSV files that Mastodon and this server export."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ...storage.engine.json_values import JsonObject
from .identity import domain_of
from .languages import language_code
from .limits import LIST_TITLE_CHARACTERS
from .markup import one_line

LARGEST_FILE = 2 * 1024 * 1024
MOST_LINES = 20_000
LONGEST_TARGET = 2048

FALSE = frozenset({"false", "f", "0", "no"})
HEADING = "account address"
# Mastodon's earlier files name columns with a mark.
HEADINGS = frozenset({HEADING, "#domain", "domain", "#uri", "list name"})

Row = Mapping[str, str]


class UnreadableFile(Exception):
    """Raised for a file that can't be imported, with the reason as a sentence."""


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """A line: the account, domain or status, and the terms that go with it."""

    number: int
    target: str
    options: JsonObject


def lines_of(kind: str, file: bytes, local_domain: str) -> list[ImportedLine]:
    """Return the lines of a file. Raises UnreadableFile. A target twice, of which the second has no effect, is kept."""
    found = list(_lines(kind, file, local_domain))
    if not found:
        raise UnreadableFile("The file has no lines.")
    return found


def _lines(kind: str, file: bytes, local_domain: str) -> Iterator[ImportedLine]:
    read = READERS[kind]
    for number, row in _rows(file):
        target, options = read(row, local_domain)
        if len(target) > LONGEST_TARGET or any(character in target for character in "\0\r\n"):
            raise UnreadableFile(f"Line {number} is too long, or no text.")
        if target:
            yield ImportedLine(number, target, options)


def _rows(file: bytes) -> Iterator[tuple[int, Row]]:
    """Return the rows with their numbers. The columns have the names of the heading, or else their places."""
    names: list[str] = []
    try:
        text = io.StringIO(file.decode("utf-8-sig"), newline="")
        for number, cells in enumerate(csv.reader(text), 1):
            if number > MOST_LINES + 1:
                raise UnreadableFile(f"The file has more than {MOST_LINES} lines.")
            if number == 1 and cells and cells[0].strip().lower() in HEADINGS:
                names = [cell.strip().lower() for cell in cells]
            elif any(cell.strip() for cell in cells):
                by_place = {str(place): cell.strip() for place, cell in enumerate(cells[:16])}
                yield number, by_place | dict(zip(names, (cell.strip() for cell in cells), strict=False))
    except (UnicodeDecodeError, csv.Error):
        raise UnreadableFile("This is not a CSV file in UTF-8.") from None


def account_target(written: str, local_domain: str) -> str:
    """Return an account's address as it is compared: without the domain of this server, in lower case."""
    name, _, domain = written.removeprefix("@").partition("@")
    return name.lower() if domain.lower() in ("", local_domain.lower()) else f"{name}@{domain}".lower()


def _address(row: Row, local_domain: str, place: str = "0") -> str:
    return account_target(row.get(HEADING) or row.get(place, ""), local_domain)


def _following(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    options: JsonObject = {}
    if (reblogs := row.get("show boosts")) is not None:
        options["reblogs"] = reblogs.lower() not in FALSE
    if notify := row.get("notify on new posts"):
        options["notify"] = notify.lower() not in FALSE
    if languages := row.get("languages"):
        known = (language_code(one.strip()) for one in languages.split(",")[:200])
        options["languages"] = list(dict.fromkeys(one for one in known if one is not None))
    return _address(row, local_domain), options


def _block(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    return _address(row, local_domain), {}


def _mute(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    hide = row.get("hide notifications", "true")
    return _address(row, local_domain), {"notifications": hide.lower() not in FALSE}


def _list(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    title = one_line(row.get("0", ""))
    if not title or len(title) > LIST_TITLE_CHARACTERS:
        raise UnreadableFile(f"The name of a list is missing, or longer than {LIST_TITLE_CHARACTERS} characters.")
    return account_target(row.get("1", ""), local_domain), {"title": title}


def _bookmark(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    return row.get("0", ""), {}


def _domain(row: Row, local_domain: str) -> tuple[str, JsonObject]:
    written = row.get("0", "")
    return domain_of(written) or written, {}


READERS: Mapping[str, Callable[[Row, str], tuple[str, JsonObject]]] = {
    "following": _following,
    "blocks": _block,
    "mutes": _mute,
    "lists": _list,
    "bookmarks": _bookmark,
    "domain_blocks": _domain,
}
