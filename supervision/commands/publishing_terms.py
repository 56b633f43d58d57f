"""Changing the files of the terms of service, for the commands. The audit log has each change."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

from ...actors.kernel.ids import Ids
from ...actors.policies import NOTICE
from ...actors.rules.documents import terms_on
from ...actors.staff import Target, act_at_command_line
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.policies import read_terms, remove_terms, write_terms
from .acting import NotDone
from .options import settings_from
from .rows import transact
from .text_files import reading, texts_folder, writing


def listed(config: Path | None, data: str | None, today: date) -> list[dict[str, object]]:
    """Return all terms of service in the order of their dates."""
    with reading():
        found = read_terms(texts_folder(config, data))
    dates = [effective for effective, _ in found]
    in_force = terms_on(today, dates)
    return [
        {
            "date": effective.isoformat(),
            "state": "in force" if effective == in_force else "past" if effective <= today else "future",
            "characters": len(source.markdown),
            "changed_at": source.updated_at.isoformat(),
        }
        for effective, source in found
    ]


def publish(config: Path | None, data: str | None, effective: date, raw: bytes, *, replace: bool) -> None:
    """Write terms of service that are in force from a day on."""
    transact(settings_from(config, data=data), _publish, texts_folder(config, data), effective, raw, replace)


def remove(config: Path | None, data: str | None, effective: date) -> None:
    """Remove the terms of service of a day."""
    transact(settings_from(config, data=data), _remove, texts_folder(config, data), effective)


async def _publish(
    db: Connection, folder: Path, effective: date, raw: bytes, replace: bool, ids: Ids, now: datetime
) -> None:
    with reading():
        exists = effective in {day for day, _ in read_terms(folder)}
    if exists and not replace:
        raise NotDone(f"There are terms of {effective} already. --replace changes them.")
    await _log(db, "replace_terms" if exists else "publish_terms", effective, ids, now)
    # The file comes last: if it can't be written, nothing is stored.
    with writing(folder):
        write_terms(folder, effective, raw)


async def _remove(db: Connection, folder: Path, effective: date, ids: Ids, now: datetime) -> None:
    await _log(db, "remove_terms", effective, ids, now)
    with writing(folder):
        if not remove_terms(folder, effective):
            raise NotDone(f"There are no terms of {effective}.")


async def _log(db: Connection, action: str, effective: date, ids: Ids, now: datetime) -> None:
    await act_at_command_line(ids, now).log(db, action, Target("terms", None, effective.isoformat()))
    await notices.announce(db, NOTICE)
