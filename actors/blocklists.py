"""Lists of blocked domains as CSV files, in the form that Mastodon's pages of staff read and write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from ..storage.blocked_domains import BlockedDomain, Severity
from .commands.blocked_domains import DomainTerms, ListedBlock
from .rules.identity import domain_of
from .rules.limits import BLOCK_COMMENT_CHARACTERS

# The columns of the reference server's files. Those of other versions may be missing.
CSV = ("#domain", "#severity", "#reject_media", "#reject_reports", "#public_comment", "#obfuscate")
SEVERITIES: Mapping[str, Severity] = {"noop": "noop", "silence": "silence", "suspend": "suspend"}
# More lines than any list of blocks that is in use, and few enough for one transaction.
MOST_LINES = 50_000
QUOTED = 100  # characters of a cell that a refusal repeats


class UnreadableList(Exception):
    """Raised for a file that is no list of blocks. The text says what is wrong."""


def read_csv(file: Iterable[str]) -> list[ListedBlock]:
    """Return the blocks of a CSV file. Without a heading, each line begins with a domain. Raises UnreadableList."""
    try:
        rows = [row for row in csv.reader(file) if row and row[0].strip()]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UnreadableList(f"The file is not a CSV file: {error}.") from None
    if len(rows) > MOST_LINES:
        raise UnreadableList(f"The file has more than {MOST_LINES} lines.")
    names = [name.strip().removeprefix("#") for name in rows[0]] if rows else []
    if "domain" not in names:
        return [_line(number, {"domain": row[0]}) for number, row in enumerate(rows, 1)]
    return [_line(number, dict(zip(names, row, strict=False))) for number, row in enumerate(rows[1:], 2)]


def as_csv(blocks: Iterable[BlockedDomain]) -> str:
    """Return blocks as a CSV file."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(CSV)
    for one in blocks:
        flags = (_flag(one.reject_media), _flag(one.reject_reports))
        rows.writerow((one.domain, one.severity, *flags, one.public_comment or "", _flag(one.obfuscate)))
    return text.getvalue()


def _line(number: int, row: Mapping[str, str]) -> ListedBlock:
    written = row.get("domain", "")  # a short line may have no such column
    domain = domain_of(written)
    if domain is None:
        raise UnreadableList(f"Line {number}: {written[:QUOTED]!r} is not a domain. No domain was blocked.")
    severity = SEVERITIES.get(row.get("severity", "").strip().lower() or "suspend")
    if severity is None:
        raise UnreadableList(f"Line {number}: {row['severity'][:QUOTED]!r} is not a severity. No domain was blocked.")
    comment = (row.get("public_comment") or "")[:BLOCK_COMMENT_CHARACTERS] or None
    if comment and "\0" in comment:  # PostgreSQL can't store it
        raise UnreadableList(f"Line {number}: the comment has a NUL character. No domain was blocked.")
    media, reports, obfuscate = (_is_set(row.get(name)) for name in ("reject_media", "reject_reports", "obfuscate"))
    return ListedBlock(domain, DomainTerms(severity, media, reports, None, comment, obfuscate))


def _is_set(value: str | None) -> bool:
    return (value or "").strip().lower() in ("true", "1", "t", "yes")


def _flag(value: bool) -> str:
    return "true" if value else "false"
