"""The operator's texts: files in the folder `texts` of the data folder, read as they are.

    texts/description.md        what the server is about, longer than the setting `description`
    texts/privacy.md            the privacy policy
    texts/terms/2026-12-01.md   the terms of service that are in force from that day on
    texts/rules.toml            the rules, each with an id that stays the same: reports name it

All functions here but `lock` wait for the disk: they are called in threads.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from .engine.database import Connection
from .engine.json_values import JsonObject, is_list, is_object
from .upkeep.flushing import flush

LOCK = "SELECT pg_advisory_xact_lock(7461005)"

RULES = "rules.toml"
LARGEST_FILE = 131_072  # bytes
MOST_TERMS = 100
MOST_RULES = 100
RULE_CHARACTERS = 1000
HINT_CHARACTERS = 5000
MOST_TRANSLATIONS = 100
LARGEST_ID = 2**63 - 1


class UnusableTexts(Exception):
    """Raised for a file that can't be used. The text names the file and the reason."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file of Markdown, and when it was changed last."""

    markdown: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule in one language; `hint` explains it and may be empty."""

    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the server, with translations by language code."""

    id: int
    original: RuleText
    translations: Mapping[str, RuleText] = field(default_factory=dict[str, RuleText])


@dataclass(frozen=True, slots=True)
class TextFiles:
    """All files of the folder. The terms are in the order of their dates."""

    description: SourceText | None = None
    privacy: SourceText | None = None
    terms: tuple[tuple[date, SourceText], ...] = ()
    rules: tuple[Rule, ...] = ()


def read_texts(folder: Path) -> TextFiles:
    """Return the texts of a folder, which need not exist. Raises UnusableTexts."""
    return TextFiles(
        description=find_text(folder, "description.md"),
        privacy=find_text(folder, "privacy.md"),
        terms=read_terms(folder),
        rules=read_rules(folder),
    )


def find_text(folder: Path, name: str) -> SourceText | None:
    """Return a file such as `privacy.md`, or None if there is none. Raises UnusableTexts."""
    path = folder / name
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise UnusableTexts(f"{name}: {error.strerror}") from error
    return SourceText(_decoded(name, raw), changed)


def _decoded(name: str, raw: bytes) -> str:
    if len(raw) > LARGEST_FILE:
        raise UnusableTexts(f"{name}: it has more than {LARGEST_FILE} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableTexts(f"{name}: it is not UTF-8") from None


def read_terms(folder: Path) -> tuple[tuple[date, SourceText], ...]:
    """Return the terms of service of a folder, which need not exist, in the order of their dates.

    Raises UnusableTexts.
    """
    try:
        names = sorted(path.name for path in (folder / "terms").glob("*.md"))
    except OSError as error:
        raise UnusableTexts(f"terms: {error.strerror}") from error
    if len(names) > MOST_TERMS:
        raise UnusableTexts(f"terms: there are more than {MOST_TERMS} files")
    found = ((_date_of(name), find_text(folder, f"terms/{name}")) for name in names)
    return tuple((effective, text) for effective, text in found if text is not None)


def write_terms(folder: Path, effective: date, raw: bytes) -> None:
    """Write the file of terms at once, so that a reader sees all of it or nothing.

    Raises UnusableTexts if the terms could not be read again, and OSError.
    """
    name = _name_of(effective)
    if not _decoded(name, raw).strip():
        raise UnusableTexts(f"{name}: it would be empty")
    others = [day for day, _ in read_terms(folder) if day != effective]
    if len(others) >= MOST_TERMS:
        raise UnusableTexts(f"terms: there would be more than {MOST_TERMS} files")
    _replace(folder / "terms", f"{effective.isoformat()}.md", raw)


def remove_terms(folder: Path, effective: date) -> bool:
    """Remove the file of terms. False if there is none. Raises OSError."""
    path = folder / _name_of(effective)
    if not path.is_file():
        return False
    path.unlink()
    flush(path.parent)
    return True


def write_text(folder: Path, name: str, raw: bytes) -> None:
    """Write a file such as `privacy.md` in one step. An empty text removes it. Raises UnusableTexts and OSError."""
    if _decoded(name, raw).strip():
        _replace(folder, name, raw)
    elif (folder / name).is_file():
        (folder / name).unlink()
        flush(folder)


async def lock(db: Connection) -> None:
    """Lock the files against other changes until the end of the transaction."""
    await db.execute(LOCK)


def _name_of(effective: date) -> str:
    return f"terms/{effective.isoformat()}.md"


def _date_of(name: str) -> date:
    try:
        return datetime.strptime(name, "%Y-%m-%d.md").replace(tzinfo=UTC).date()
    except ValueError:
        raise UnusableTexts(f"terms/{name}: the name is not a date such as 2026-12-01.md") from None


def read_rules(folder: Path) -> tuple[Rule, ...]:
    """Return the rules of a folder, which need not exist. Raises UnusableTexts."""
    source = find_text(folder, RULES)
    return () if source is None else _rules_of(source.markdown)


def write_rules(folder: Path, rules: Iterable[Rule]) -> None:
    """Replace the file of rules in one step, so that a reader sees either all old or all new rules.

    Raises UnusableTexts if the rules could not be read again, and OSError.
    """
    text = "\n".join(map(_toml, rules))
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise UnusableTexts(f"{RULES}: it would not be UTF-8") from None
    if len(raw) > LARGEST_FILE:
        raise UnusableTexts(f"{RULES}: it would have more than {LARGEST_FILE} bytes")
    _rules_of(text)
    _replace(folder, RULES, raw)


def _rules_of(text: str) -> tuple[Rule, ...]:
    try:
        rules = tuple(map(_rule, _tables(tomllib.loads(text))))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UnusableTexts(f"{RULES}: {error}") from None
    if len(rules) > MOST_RULES or len({rule.id for rule in rules}) < len(rules):
        raise UnusableTexts(f"{RULES}: there are more than {MOST_RULES} rules, or two with one id")
    return rules


def _toml(rule: Rule) -> str:
    lines = ["[[rules]]", f"id = {rule.id}", f"text = {_quoted(rule.original.text)}"]
    if rule.original.hint:
        lines.append(f"hint = {_quoted(rule.original.hint)}")
    for language, translation in rule.translations.items():
        hint = f", hint = {_quoted(translation.hint)}" if translation.hint else ""
        lines.append(f"translations.{_quoted(language)} = {{ text = {_quoted(translation.text)}{hint} }}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text as a string of TOML: JSON's, in which only DEL is not escaped although TOML asks for it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _replace(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, which also survives a power cut. It has the owner and the mode of the file or folder before."""
    _make_folder(folder)
    target = folder / name
    like = (target if target.exists() else folder).stat()
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), like.st_mode & 0o666)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    flush(folder)


def _make_folder(folder: Path) -> None:
    """Make a folder with those above it. What root makes belongs to the owner of the folder above."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        above = folder.parent.stat()
        os.chown(folder, above.st_uid, above.st_gid)


def _tables(file: Mapping[str, object]) -> Iterable[JsonObject]:
    rules: object = file.get("rules", [])
    if file.keys() - {"rules"} or not is_list(rules):
        raise ValueError("it has something else than tables [[rules]]")
    return (_table(rule) for rule in rules)


def _rule(table: JsonObject) -> Rule:
    id: object = table.get("id")
    if not isinstance(id, int) or isinstance(id, bool) or not 0 < id <= LARGEST_ID:
        raise ValueError("a rule needs an id, which is a whole number from 1 on")
    if unknown := table.keys() - {"id", "text", "hint", "translations"}:
        raise ValueError(f"rule {id}: there is no key {min(unknown)}")
    translations = _table(table.get("translations", {}))
    if len(translations) > MOST_TRANSLATIONS:
        raise ValueError(f"rule {id}: there are more than {MOST_TRANSLATIONS} translations")
    return Rule(
        id,
        _rule_text(table, id),
        {language: _rule_text(_table(translation), id) for language, translation in translations.items()},
    )


def _rule_text(table: JsonObject, id: int) -> RuleText:
    text, hint = table.get("text"), table.get("hint", "")
    if not isinstance(text, str) or not 0 < len(text.strip()) <= RULE_CHARACTERS:
        raise ValueError(f"rule {id}: the text has not 1 to {RULE_CHARACTERS} characters")
    if not isinstance(hint, str) or len(hint) > HINT_CHARACTERS:
        raise ValueError(f"rule {id}: the hint is not a text, or has more than {HINT_CHARACTERS} characters")
    return RuleText(text.strip(), hint.strip())


def _table(value: object) -> JsonObject:
    if not is_object(value):
        raise ValueError("a rule or a translation is not a table")
    return value
