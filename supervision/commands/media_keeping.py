"""Counting and removing files of the media folder, for the commands. The sweeps are those of the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ...actors.changed_settings import change_media_budget
from ...actors.effects.files import RemoveFiles
from ...actors.effects.registry import Promise
from ...actors.kernel.ids import Ids
from ...actors.media import cleaning
from ...actors.staff import Target, act_at_command_line
from ...storage import changed_settings, media_budget, media_usage
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.files import COMMANDS, Folder
from .acting import allowed

ROWS_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class RemovedMedia:
    """How many of each kind were removed, and the names of their files."""

    counts: dict[str, int]
    files: list[str]


async def usage(db: Connection, root: Path, ids: Ids, now: datetime) -> JsonObject:
    """Return the number of files and bytes of each kind, and of all."""
    folder = Folder(root, COMMANDS)
    kinds: dict[str, JsonObject] = {}
    for kind in media_usage.KINDS:
        sizes = await _sizes(db, folder, kind)
        kinds[kind] = {"files": len(sizes), "bytes": sum(sizes)}
    for made, (size, count) in (await media_usage.copies(db)).items():
        kinds[f"copies of other servers, {made}"] = {"files": count, "bytes": size}
    return {name: sum(one[name] for one in kinds.values()) for name in ("files", "bytes")} | {"kinds": kinds}


async def remove(db: Connection, days: int, ids: Ids, now: datetime) -> RemovedMedia:
    """Delete the rows of what was not used for some days. Return how many of each kind, and their files."""
    act, before, counts, files = act_at_command_line(ids, now), now - timedelta(days=days), Counter[str](), list[str]()

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        files.extend(name for one in promises if isinstance(one.effect, RemoveFiles) for name in one.effect.names)
        await act.promise(db, promises)

    while gone := await cleaning.delete_loose(db, promise, before):
        counts[cleaning.LOOSE] += gone
    after: int | None = 0
    while after is not None:
        swept = await cleaning.delete_cards(db, promise, after, before)
        counts[cleaning.CARDS] += swept.count
        after = swept.last_id
    while gone := await cleaning.delete_copies(db, promise, before):
        counts[cleaning.COPIES] += gone
    removed = {kind: counts[kind] for kind in (cleaning.LOOSE, cleaning.CARDS, cleaning.COPIES)}
    await act.log(db, "remove_media", Target("media", None, f"{days} days"), "", **removed)
    await notices.announce(db, "outbox")
    return RemovedMedia(removed, files)


def remove_files(root: Path, names: Sequence[str]) -> int:
    """Remove files whose rows are deleted. Return how many could not be removed: the server has promised to do it.

    No file is left at once, also without a running server: a full disk may be what keeps it from starting.
    """
    folder, left = Folder(root, COMMANDS), 0
    for name in names:
        try:
            folder.remove([name])
        except OSError:
            left += 1
    return left


async def change_budget(db: Connection, value: int | None, ids: Ids, now: datetime) -> None:
    """Choose the budget. With None it is the default again."""
    allowed(await change_media_budget(db, act_at_command_line(ids, now), value))


async def budget_of(db: Connection, ids: Ids, now: datetime) -> JsonObject:
    """Return the budget, whether staff chose it, and how much of it is used, all in bytes."""
    chosen = await changed_settings.find_media_budget(db)
    return {
        "budget": await cleaning.budget(db),
        "chosen": chosen is not None,
        "used": await media_budget.total(db),
    }


async def _sizes(db: Connection, folder: Folder, kind: str) -> list[int]:
    """Return the sizes of the files of a kind that are there."""
    found: list[int] = []
    after = 0
    while page := await media_usage.page(db, kind, after, ROWS_AT_ONCE):
        after = page[-1][0]
        found += [size for _, names in page for name in names if (size := folder.size(name)) is not None]
    return found
