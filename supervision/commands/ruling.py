"""Changing the file of rules, for the commands."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from ...actors import policy_changes
from ...actors.kernel.ids import Ids
from ...actors.staff import act_at_command_line
from ...storage.engine.database import Connection
from ...storage.policies import RuleText, read_rules
from .options import settings_from
from .rows import transact
from .text_files import reading, refusing, texts_folder


def listed(config: Path | None, data: str | None) -> list[dict[str, object]]:
    """Return the rules in their order."""
    with reading():
        rules = read_rules(texts_folder(config, data))
    return [
        {"id": str(one.id), **asdict(one.original), "translations": {k: asdict(t) for k, t in one.translations.items()}}
        for one in rules
    ]


def add(config: Path | None, data: str | None, text: str, hint: str) -> int:
    """Add a rule and return its id."""
    with refusing():
        return transact(settings_from(config, data=data), _add, texts_folder(config, data), RuleText(text, hint))


def change(
    config: Path | None, data: str | None, id: int, text: str | None, hint: str | None, language: str | None
) -> None:
    """Change the original of a rule or a translation."""
    folder = texts_folder(config, data)
    with refusing():
        transact(settings_from(config, data=data), _change, folder, id, text, hint, language)


def remove(config: Path | None, data: str | None, id: int) -> None:
    """Remove a rule."""
    with refusing():
        transact(settings_from(config, data=data), _remove, texts_folder(config, data), id)


async def _add(db: Connection, folder: Path, text: RuleText, ids: Ids, now: datetime) -> int:
    return await policy_changes.add_rule(db, act_at_command_line(ids, now), folder, text)


async def _change(
    db: Connection,
    folder: Path,
    id: int,
    text: str | None,
    hint: str | None,
    language: str | None,
    ids: Ids,
    now: datetime,
) -> None:
    await policy_changes.change_rule(db, act_at_command_line(ids, now), folder, id, text, hint, language)


async def _remove(db: Connection, folder: Path, id: int, ids: Ids, now: datetime) -> None:
    await policy_changes.remove_rule(db, act_at_command_line(ids, now), folder, id)
