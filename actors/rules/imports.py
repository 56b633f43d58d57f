"""Reading the files of follows, blocks and the like that Mastodon, this server and others export.

A file is read as a whole before anything is done. It is refused if it is of another kind than the user says, by its
heading or by its cells: follows that are read as blocks would block all friends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...storage.engine.json_values import JsonObject
from . import csv_files
from .csv_files import UnreadableFile
from .identity import USERNAME, domain_of, pasted_domain
from .languages import language_code
from .limits import LIST_TITLE_CHARACTERS
from .markup import one_line

LARGEST_FILE = 2 * 1024 * 1024
MOST_LINES = 20_000
LONGEST_TARGET = 2048
MOST_EMPTY = 5 * MOST_LINES  # also lines that are empty
SAMPLE = 200  # rows by which the separator is found
SAMPLED_LINES = 2_000  # in which these rows are looked for
QUOTED = 60  # characters of a cell that a refusal repeats

# Also as spreadsheets write them in other languages.
_YES = "true t 1 yes y on wahr vrai verdadero verdadeiro vero waar prawda sant sand sann tosi pravda igaz doğru истина"
_NO = "false f 0 no n off falsch faux falso onwaar fałsz falskt falsk usann epätosi nepravda hamis yanliş ложь"
SWITCHES = {**dict.fromkeys(_YES.split(), True), **dict.fromkeys(_NO.split(), False)}

KINDS: Mapping[str, str] = {
    "following": "follows",
    "blocks": "blocked accounts",
    "mutes": "muted accounts",
    "lists": "lists",
    "bookmarks": "bookmarks",
    "domain_blocks": "blocked domains",
}
OF_ACCOUNTS = ("following", "blocks", "mutes")

# Columns by the names that headings give them, without a mark, in lower case.
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("account address", "account", "address", "acct", "handle"), "account"),
    **dict.fromkeys(("show boosts", "show reblogs", "boosts"), "boosts"),
    **dict.fromkeys(("notify on new posts", "notify"), "notify"),
    **dict.fromkeys(("languages", "language"), "languages"),
    **dict.fromkeys(("hide notifications",), "hide"),
    **dict.fromkeys(("domain", "domains", "instance"), "domain"),
    **dict.fromkeys(("uri", "url"), "uri"),
    **dict.fromkeys(("list name", "list", "list title"), "title"),
}
# The columns of a file without a heading.
PLACES: Mapping[str, Sequence[str]] = {
    "following": ("account", "boosts", "notify", "languages"),
    "blocks": ("account",),
    "mutes": ("account", "hide"),
    "lists": ("title", "account"),
    "bookmarks": ("uri",),
    "domain_blocks": ("domain",),
}

# A name of an account elsewhere, as other software allows it.
REMOTE_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,2000}[A-Za-z0-9_])?")
HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[0-9]{1,5})?")
WEB = re.compile(r"https?://[^\s/?#@]+(?P<path>/[^\s?#]*)?\S*", re.IGNORECASE)
# Pages of accounts: with the name alone, or after a path of other software.
NAMED_PAGE = re.compile(r"/(?:web/)?@(?P<name>[^/@\s]+)(?:@(?P<domain>[^/@\s]+))?/?")
ACCOUNT_PAGE = re.compile(r"/(?:users|user|u|profile|author|c|channel|accounts|a|video-channels)/[^/\s]+/?|/@[^/\s]+/?")

# The kinds that names of files state: files of this server, Mastodon, GoToSocial, Pleroma and Misskey. A file of
# followers may be imported as accounts to follow, and not as accounts to block.
FILE_NAMES: Mapping[str, re.Pattern[str]] = {
    "following": re.compile(r"follow|friends"),
    "blocks": re.compile(r"block"),
    "mutes": re.compile(r"mut(?:e|ing)"),
}

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ImportedLine:
    """A line: the account, domain or status, and the terms that go with it."""

    number: int
    target: str
    options: JsonObject


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file with the numbers of their lines, and the columns of its heading if it has one."""

    rows: Sequence[tuple[int, Sequence[str]]]
    columns: Sequence[str] | None


def lines_of(kind: str, file: bytes, local_domain: str, name: str = "") -> list[ImportedLine]:
    """Return the lines of a file with this name. Raises UnreadableFile. A target twice is kept twice: lists need it."""
    sheet = _sheet(kind, csv_files.text_of(file))
    if not sheet.rows:
        raise UnreadableFile("The file has no lines.")
    _check_kind(kind, sheet, name)
    columns = sheet.columns or PLACES[kind]
    lines = [_line(kind, number, dict(zip(columns, cells, strict=False)), local_domain) for number, cells in sheet.rows]
    found = [line for line in lines if line.target]
    if not found:
        raise UnreadableFile("The file has no lines.")
    return found


def account_target(written: str, local_domain: str) -> str:
    """Return an account's address as it is compared: without the domain of this server, in lower case.

    The address of a page stays as it is if it does not say the name of the account.
    """
    text = written.strip()
    if (web := WEB.fullmatch(text)) is not None:
        page = NAMED_PAGE.fullmatch(web["path"] or "")
        domain = None if page is None else page["domain"] or pasted_domain(text)
        if page is None or domain is None:
            return text
        text = f"{page['name']}@{domain}"
    if text[:5].lower() == "acct:":
        text = text[5:]
    if text.startswith("!") and "@" in text:  # a group, as Lemmy writes it
        text = text[1:]
    name, at, written_domain = text.removeprefix("@").partition("@")
    domain = domain_of(written_domain) or written_domain.lower()
    is_own = not at or domain == local_domain.lower()
    return name.lower() if is_own else f"{name}@{domain}".lower()


def is_account(target: str) -> bool:
    """True if a target may be an account: a name of this server, an address, or a page."""
    if (web := WEB.fullmatch(target)) is not None:
        return ACCOUNT_PAGE.fullmatch(web["path"] or "") is not None
    name, at, domain = target.partition("@")
    if not at:
        return USERNAME.fullmatch(name) is not None
    return REMOTE_NAME.fullmatch(name) is not None and HOST.fullmatch(domain) is not None


def is_address(target: str) -> bool:
    """True for the web address of a status."""
    return WEB.fullmatch(target) is not None


# The table ------------------------------------------------------------------------------------------------------------


def _sheet(kind: str, text: str) -> Sheet:
    """Take a text apart with the separator that fits it best."""
    first = 1
    if (named := csv_files.separator_line(text)) is not None:
        separator, text = named
        first = 2
    else:
        texts = [text] if (inner := csv_files.unwrapped(text)) is None else [text, inner]
        ways = [(separator, written) for written in texts for separator in csv_files.SEPARATORS]
        separator, text = max(ways, key=lambda way: _fitting(kind, way[1], way[0]))  # of equally good ways the first
    rows = [(number + first - 1, cells) for number, cells in _bounded(kind, text, separator)]
    for number, cells in rows:
        if len(max(cells, key=len)) > LONGEST_TARGET:
            raise UnreadableFile(f"Line {number} is too long. Nothing was changed.")
    columns = _columns(rows[0][1]) if rows else None
    return Sheet(rows[1:] if columns else rows, columns)


def _bounded(
    kind: str, text: str, separator: str, most: int = MOST_LINES + 1, last: int = MOST_EMPTY
) -> Sequence[tuple[int, Sequence[str]]]:  # fmt: skip
    """Return the rows, without comments. Raises UnreadableFile if there are too many, or too many lines of any kind."""
    found: list[tuple[int, Sequence[str]]] = []
    for row in csv_files.rows_of(text, separator):
        is_beyond = row[0] > last
        if not is_beyond and _is_comment(kind, row[1]):
            continue
        if is_beyond or len(found) == most:
            if most == SAMPLE:
                break
            raise UnreadableFile(f"The file has more than {MOST_LINES} lines.")
        found.append(row)
    return found


def _fitting(kind: str, text: str, separator: str) -> tuple[int, int]:
    """Return how well a separator fits: the known columns of the heading, and the rows that are of a known kind."""
    try:
        rows = _bounded(kind, text, separator, SAMPLE, SAMPLED_LINES)
    except UnreadableFile:
        return (0, 0)
    columns = _columns(rows[0][1]) if rows else None
    known = sum(column != "" for column in columns or ())
    return known, sum(_is_of(kind, cells, columns) for _, cells in rows)


def _is_comment(kind: str, cells: Sequence[str]) -> bool:
    """True for a comment about the file: not for a heading, nor for a list whose name begins with the sign."""
    return cells[0].startswith("#") and _columns(cells) is None and not _is_of(kind, cells, None)


def _columns(cells: Sequence[str]) -> Sequence[str] | None:
    """Return the columns of a heading, with empty texts for unknown columns; None if this row is no heading."""
    if any("@" in cell or "://" in cell for cell in cells):
        return None
    columns = [COLUMNS.get(cell.lower().lstrip("#").replace("_", " ").strip(), "") for cell in cells]
    return columns if {"account", "domain", "uri"}.intersection(columns) else None


# The kind of a file ---------------------------------------------------------------------------------------------------


def _check_kind(kind: str, sheet: Sheet, name: str) -> None:
    """Raise UnreadableFile for a file of another kind, or of an uncertain kind."""
    named = _kinds_of_heading(sheet.columns)
    if named and kind not in named:
        raise _of_another_kind(kind, named)
    if not named:
        _check_first_row(sheet.rows)
    if not _is_mostly(kind, sheet):
        others = [] if named else [other for other in KINDS if other != kind and _is_mostly(other, sheet)]
        if others:
            raise _of_another_kind(kind, others)
        raise UnreadableFile(f"This is not a file of {KINDS[kind]}: most of its lines name none. Nothing was changed.")
    if kind in OF_ACCOUNTS and len(named) != 1:
        _check_name(kind, name)


def _kinds_of_heading(columns: Sequence[str] | None) -> Sequence[str]:
    """Return the kinds that a heading may stand for; none without a heading."""
    match set(columns or ()):
        case found if {"title", "account"} <= found:
            return ("lists",)
        case found if "account" in found and "hide" in found:
            return ("mutes",)
        case found if "account" in found and found & {"boosts", "notify", "languages"}:
            return ("following",)
        case found if "account" in found:
            return OF_ACCOUNTS
        case found if "domain" in found:
            return ("domain_blocks",)
        case found if "uri" in found:
            return ("bookmarks",)
        case _:
            return ()


def _check_first_row(rows: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Refuse a heading that is not known, for example in another language: the meaning of its columns is not known."""
    first = rows[0][1]
    if len(rows) < 2 or _has_address(first):
        return
    words = [cell for cell in first if cell and cell.lower() not in SWITCHES]
    is_above_addresses = all(_has_address(cells) for _, cells in rows[1:4])
    if is_above_addresses and (len(words) > 1 or " " in first[0]):
        names = '"Account address", "List name", "#domain" or "#uri"'
        raise UnreadableFile(
            f'The heading "{first[0][:QUOTED]}" is not known: use {names}, or leave it out. Nothing was changed.'
        )


def _has_address(cells: Sequence[str]) -> bool:
    return any("@" in cell or "." in cell for cell in cells)


def _is_mostly(kind: str, sheet: Sheet) -> bool:
    return sum(_is_of(kind, cells, sheet.columns) for _, cells in sheet.rows) * 2 >= len(sheet.rows)


def _is_of(kind: str, cells: Sequence[str], columns: Sequence[str] | None) -> bool:
    """True if a row may be of a kind: it is not certainly of another kind."""
    row = dict(zip(columns or PLACES[kind], cells, strict=False))
    account = row.get("account", "")
    match kind:
        case "lists":
            return is_account(account_target(account, "")) and account.lower() not in SWITCHES
        case "bookmarks":
            return is_address(row.get("uri", ""))
        case "domain_blocks":
            web = WEB.fullmatch(row.get("domain", ""))
            is_page = web is not None and web["path"] not in (None, "/")
            return "@" not in row.get("domain", "") and not is_page and pasted_domain(row.get("domain", "")) is not None
        case _:
            # The name of a list, which may look like the name of an account, and then a member.
            is_list = columns is None and "@" not in account and "@" in "".join(cells[1:2])
            return is_account(account_target(account, "")) and not is_list


def _check_name(kind: str, name: str) -> None:
    """Refuse accounts in a file whose name says that they are of another kind."""
    named = [other for other, pattern in FILE_NAMES.items() if pattern.search(name.lower())]
    if len(named) == 1 and kind not in named:
        raise UnreadableFile(
            f'The name of the file, "{name[:QUOTED]}", says that it is a file of {KINDS[named[0]]}, and you chose '
            f"{KINDS[kind]}. Nothing was changed. If the name is wrong, give the file another one."
        )


def _of_another_kind(kind: str, found: Sequence[str]) -> UnreadableFile:
    words = "accounts" if len(set(found).intersection(OF_ACCOUNTS)) > 1 else KINDS[found[0]]
    return UnreadableFile(f"This is a file of {words}, and you chose {KINDS[kind]}. Nothing was changed.")


# Lines ----------------------------------------------------------------------------------------------------------------


def _line(kind: str, number: int, row: Row, local_domain: str) -> ImportedLine:
    line = replace(READERS[kind](row, local_domain), number=number)
    if any(character in line.target for character in "\0\r\n"):
        raise UnreadableFile(f"Line {number} is no text. Nothing was changed.")
    return line


def _following(row: Row, local_domain: str) -> ImportedLine:
    options: JsonObject = {}
    for name, column in (("reblogs", "boosts"), ("notify", "notify")):
        if (switch := SWITCHES.get(row.get(column, "").lower())) is not None:
            options[name] = switch
    if languages := row.get("languages"):
        known = (language_code(part.strip()) for part in re.split(r"[,;\s]+", languages)[:200])
        options["languages"] = list(dict.fromkeys(code for code in known if code is not None))
    return ImportedLine(0, account_target(row.get("account", ""), local_domain), options)


def _block(row: Row, local_domain: str) -> ImportedLine:
    return ImportedLine(0, account_target(row.get("account", ""), local_domain), {})


def _mute(row: Row, local_domain: str) -> ImportedLine:
    options: JsonObject = {"notifications": SWITCHES.get(row.get("hide", "").lower(), True)}
    return ImportedLine(0, account_target(row.get("account", ""), local_domain), options)


def _list(row: Row, local_domain: str) -> ImportedLine:
    title = one_line(row.get("title", ""))
    if not title or len(title) > LIST_TITLE_CHARACTERS:
        raise UnreadableFile(f"The name of a list is missing, or longer than {LIST_TITLE_CHARACTERS} characters.")
    return ImportedLine(0, account_target(row.get("account", ""), local_domain), {"title": title})


def _bookmark(row: Row, local_domain: str) -> ImportedLine:
    return ImportedLine(0, row.get("uri", ""), {})


def _domain(row: Row, local_domain: str) -> ImportedLine:
    written = row.get("domain", "")
    return ImportedLine(0, pasted_domain(written) or written, {})


READERS: Mapping[str, Callable[[Row, str], ImportedLine]] = {
    "following": _following,
    "blocks": _block,
    "mutes": _mute,
    "lists": _list,
    "bookmarks": _bookmark,
    "domain_blocks": _domain,
}
