"""Lists of blocked domains as files: read in the formats that servers publish, written as CSV for Mastodon.

It reads CSV files with the columns of Mastodon in any order (also with semicolons or tabs), files with a domain on each
line, and JSON: lists of objects as GoToSocial exports them, and the rules of Akkoma and Pleroma (`mrf_simple`).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..storage.blocked_domains import BlockedDomain, Severity
from ..storage.engine.json_values import JsonObject, list_or_empty, object_or_empty
from .commands.blocked_domains import DomainTerms, ListedBlock
from .rules.csv_files import BLANK, SEPARATORS, is_end, kind_without_text, separator_line, unwrapped, utf_of, with_end
from .rules.domains import is_within
from .rules.identity import pasted_domain
from .rules.limits import BLOCK_COMMENT_CHARACTERS

# The columns of Mastodon's files. Files of other versions may lack some.
CSV = ("#domain", "#severity", "#reject_media", "#reject_reports", "#public_comment", "#obfuscate")
# Other names of columns. A comment that may be private becomes a comment for staff.
ALIASES = {
    "domain_name": "domain", "instance": "domain", "host": "domain", "hostname": "domain", "level": "severity",
    "comment": "public_comment", "reason": "private_comment",
}  # fmt: skip
SEVERITIES: Mapping[str, Severity] = {
    "noop": "noop", "none": "noop", "silence": "silence", "silenced": "silence", "limit": "silence",
    "limited": "silence", "suspend": "suspend", "suspended": "suspend", "block": "suspend", "blocked": "suspend",
    "reject": "suspend",
}  # fmt: skip
FLAGS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "on"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0", "off", "none", "null", ""), False),
}
# The rules of Akkoma and Pleroma that have a counterpart here. A domain may be in several of them.
MRF_SIMPLE: Mapping[str, Mapping[str, str]] = {
    "reject": {"severity": "suspend"},
    "federated_timeline_removal": {"severity": "silence"},
    "followers_only": {"severity": "silence"},
    "media_removal": {"reject_media": "true"},
    "report_removal": {"reject_reports": "true"},
}
# More lines than any known list of blocks, and few enough for one transaction.
MOST_LINES = 50_000
LARGEST_LIST = 32 * 1024 * 1024  # bytes of a file at the command line
SHOWN_PROBLEMS = 20
QUOTED = 100  # characters of a cell that an error text quotes
NOTHING_DONE = "No domain was blocked."


class UnreadableList(Exception):
    """Raised for a file that is no list of blocks. The text names the error."""


class _WrongListEntry(Exception):
    """Raised for an entry that can't be used."""


@dataclass(frozen=True, slots=True)
class _ListEntry:
    """A line of a CSV file, or an object of a JSON file: its cells by column."""

    where: str
    cells: Mapping[str, str]


def decode(content: bytes) -> str:
    """Return the text of a file, in UTF-8 or UTF-16. Raises UnreadableList."""
    if (kind := kind_without_text(content)) is not None:
        raise UnreadableList(f"The file is {kind}, not a list of domains. {NOTHING_DONE}")
    try:
        return content.decode(utf_of(content))
    except UnicodeDecodeError:
        raise UnreadableList("The file is not text in UTF-8.") from None


def read_list(text: str) -> list[ListedBlock]:
    """Return the blocks of a list. Raises UnreadableList, with the reasons of all entries that can't be used."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("<"):
        raise UnreadableList(f"The file is a web page, not a list of domains. {NOTHING_DONE}")
    entries = _of_json(start) if start[:1] in ("[", "{") else _of_csv(text.removeprefix("\ufeff"))
    blocks, problems = list[ListedBlock](), list[str]()
    for entry in entries:
        try:
            blocks.append(_block(entry.cells))
        except _WrongListEntry as wrong:
            problems.append(f"{entry.where}: {wrong}")
    if problems:
        more = len(problems) - SHOWN_PROBLEMS
        rest = [f"{more} more can't be used either."] if more > 0 else []
        raise UnreadableList("\n".join([*problems[:SHOWN_PROBLEMS], *rest, NOTHING_DONE]))
    return blocks


def own_lines(lines: Iterable[ListedBlock], here: str) -> list[str]:
    """Return the domains of a list that are not blocked: the domain of this server, and its parent domains."""
    return [domain for domain in dict.fromkeys(line.domain for line in lines) if is_within(here, domain)]


def as_csv(blocks: Iterable[BlockedDomain]) -> str:
    """Return blocks as a CSV file."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(CSV)
    for block in blocks:
        flags = (_flag(block.reject_media), _flag(block.reject_reports))
        rows.writerow((block.domain, block.severity, *flags, block.public_comment or "", _flag(block.obfuscate)))
    return text.getvalue()


def _of_csv(text: str) -> Iterator[_ListEntry]:
    """Yield the lines of a CSV file that are neither empty nor comments.

    Without a heading, each line begins with a domain. A comment begins with `#`. Mastodon's heading begins with `#`
    too, but a heading has a column `domain`.
    """
    named = separator_line(text)
    delimiter, rows = named or ("", text)
    rows = unwrapped(rows) or rows
    reader = csv.reader(
        io.StringIO(with_end(rows), newline=""), delimiter=delimiter or _delimiter(rows), skipinitialspace=True
    )
    before = 1 if named else 0  # lines above the rows
    columns, first, start, number, count = ["domain"], True, 1, 1 + before, 0
    row = list[str]()
    try:
        for row in reader:
            start, number = number, before + reader.line_num + 1
            if not any(cell.strip(BLANK) for cell in row):
                continue
            names = [_column(cell) for cell in row]
            if first and "domain" in names:
                columns, first = names, False
                continue
            if row[0].lstrip().startswith("#"):
                continue
            first = False
            if (count := count + 1) > MOST_LINES:
                raise UnreadableList(f"The file has more than {MOST_LINES} lines. {NOTHING_DONE}")
            yield _ListEntry(f"Line {start}", dict(zip(columns, row, strict=False)))
    except csv.Error as error:
        raise UnreadableList(f"The file is not a CSV file: {error}. {NOTHING_DONE}") from None
    if not is_end(row):
        raise UnreadableList(f"Line {start}: its quotation mark is not closed. {NOTHING_DONE}")


def _delimiter(text: str) -> str:
    """Return the separator of the columns: the most frequent in the heading or, without it, the first line."""
    lines = (line for line in text.split("\n", 1000) if line.strip())
    first = next((line for line in lines if not line.lstrip().startswith("#") or _is_heading(line)), "")
    return max(SEPARATORS, key=first.count)


def _is_heading(line: str) -> bool:
    return any("domain" in map(_column, line.split(sign)) for sign in SEPARATORS)


def _column(written: str) -> str:
    name = written.strip().strip('#"').strip().lower().replace(" ", "_").replace("-", "_")
    return ALIASES.get(name, name)


def _of_json(text: str) -> Iterator[_ListEntry]:
    """Yield the entries of a JSON list of objects or names, or of the rules of Akkoma."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableList(f"The file is not JSON: {str(error)[:QUOTED]}. {NOTHING_DONE}") from None
    rules = object_or_empty(document)
    entries = _of_rules(rules) if rules else list_or_empty(document)
    if len(entries) > MOST_LINES:
        raise UnreadableList(f"The file has more than {MOST_LINES} entries. {NOTHING_DONE}")
    for number, entry in enumerate(entries, 1):
        cells = object_or_empty(entry) or {"domain": entry}
        yield _ListEntry(f"Entry {number}", {_column(name): _cell(value) for name, value in cells.items()})


def _of_rules(document: JsonObject) -> list[object]:
    """Return the entries of `mrf_simple`. The document is the rules, or a NodeInfo that contains them."""
    rules = document
    for name in ("metadata", "federation", "mrf_simple"):
        rules = object_or_empty(rules.get(name)) or rules
    if MRF_SIMPLE.keys().isdisjoint(rules):
        raise UnreadableList(f"The file is JSON, and not a list of domains. {NOTHING_DONE}")
    found = dict[str, dict[str, object]]()
    for rule, terms in MRF_SIMPLE.items():
        for target in list_or_empty(rules.get(rule)):
            domain, reason = _target(target)
            entry = found.setdefault(domain, {"domain": domain, "severity": "noop"})
            if entry["severity"] != "suspend":
                entry.update(terms)
            if reason:
                entry["private_comment"] = reason
    return [*found.values()]


def _target(written: object) -> tuple[str, str]:
    """Return the domain and the reason of one target of a rule: a text, a pair, or an object with a pair."""
    pair = list_or_empty(object_or_empty(written).get("tuple", written)) or [written]
    domain, reason = ([_cell(part) for part in pair] + [""])[:2]
    return domain, reason


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _block(cells: Mapping[str, str]) -> ListedBlock:
    """Return the block of an entry. Raises _WrongListEntry."""
    severity_text = cells.get("severity", "").strip()
    severity = SEVERITIES.get(severity_text.lower() or "suspend")
    domain = _domain(cells.get("domain", ""))
    if severity is None:
        raise _WrongListEntry(f"{severity_text[:QUOTED]!r} is not a severity.")
    media, reports, obfuscate = (
        _is_set(name, cells.get(name, "")) for name in ("reject_media", "reject_reports", "obfuscate")
    )
    private, public = (_comment(cells.get(name, "")) for name in ("private_comment", "public_comment"))
    return ListedBlock(domain, DomainTerms(severity, media, reports, private, public, obfuscate))


def _domain(written: str) -> str:
    """Return a domain as it is stored. The address of an account or page is refused: it is not a whole server."""
    name = written.partition(" #")[0].strip()
    host, slash, path = name.partition("://")[2].partition("/") if "://" in name else name.partition("/")
    if "@" in host.removeprefix("@") or (slash and path.strip("*/")):
        raise _WrongListEntry(f"{name[:QUOTED]!r} is one account or page, not a domain.")
    domain = pasted_domain(name)
    if domain is None:
        hidden = " Its letters are hidden by stars." if "*" in name.removeprefix("*.") and "." in name else ""
        raise _WrongListEntry(f"{written.strip()[:QUOTED]!r} is not a domain.{hidden}")
    return domain


def _comment(written: str) -> str | None:
    if "\0" in written:  # PostgreSQL can't store it
        raise _WrongListEntry("the comment has a NUL character.")
    return written.strip()[:BLOCK_COMMENT_CHARACTERS] or None


def _is_set(name: str, written: str) -> bool:
    value = FLAGS.get(written.strip().lower())
    if value is None:
        raise _WrongListEntry(f"{written.strip()[:QUOTED]!r} is neither true nor false, in {name}.")
    return value


def _flag(value: bool) -> str:
    return "true" if value else "false"
