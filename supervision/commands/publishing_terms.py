"""Changing the files of the terms of service, for the commands."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

from ...actors import policy_changes
from ...actors.kernel.ids import Ids
from ...actors.rules.documents import terms_on
from ...actors.staff import act_at_command_line
from ...storage.engine.database import Connection
from ...storage.policies import read_terms
from .options import settings_from
from .rows import transact
from .text_files import reading, refusing, texts_folder

TAKEN = 409  # the status of the refusal to publish terms for a day that has some


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
    with refusing({TAKEN: "--replace changes them."}):
        transact(settings_from(config, data=data), _publish, texts_folder(config, data), effective, raw, replace)


def remove(config: Path | None, data: str | None, effective: date) -> None:
    """Remove the terms of service of a day."""
    with refusing():
        transact(settings_from(config, data=data), _remove, texts_folder(config, data), effective)


async def _publish(
    db: Connection, folder: Path, effective: date, raw: bytes, replace: bool, ids: Ids, now: datetime
) -> None:
    act = act_at_command_line(ids, now)
    await policy_changes.publish_terms(db, act, folder, effective, raw, change=replace)


async def _remove(db: Connection, folder: Path, effective: date, ids: Ids, now: datetime) -> None:
    await policy_changes.remove_terms(db, act_at_command_line(ids, now), folder, effective)
