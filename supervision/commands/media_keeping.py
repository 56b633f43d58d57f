"""Counting and removing files of the media folder, for the commands. The sweeps are those of the server."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...actors.changed_settings import change_media_budget
from ...actors.effects.files import RemoveFiles
from ...actors.effects.registry import Promise
from ...actors.kernel.ids import Ids
from ...actors.media import cleaning
from ...actors.rules.wording import number_of
from ...actors.staff import Target, act_at_command_line
from ...storage import accounts, changed_settings, media_budget, media_usage
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.files import Folder
from .acting import allowed
from .rows import Transact

ROWS_AT_ONCE = 5000

# What is removed, in this order.
KINDS = (cleaning.LOOSE, cleaning.CARDS, cleaning.COPIES)


@dataclass(slots=True)
class RemovedMedia:
    """The numbers of removed media by kind, and of files that could not be removed."""

    counts: Counter[str] = field(default_factory=Counter[str])
    left: int = 0

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of each kind, also of those of which none was removed."""
        return {kind: self.counts[kind] for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that one transaction has deleted: how many, their files, and the last id looked at, if there may be more."""

    count: int
    files: list[str]
    after: int | None


@dataclass(slots=True)
class Usage:
    """A number of files, and the bytes that they take."""

    files: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.files += 1
        self.bytes += size


async def usage(
    db: Connection, folder: Folder, most: int, progress: Callable[[int], None], ids: Ids, now: datetime
) -> JsonObject:
    """Return the number of files and bytes of each kind, and of all, and the accounts whose files take most.

    `progress` is told of files.
    """
    sizes = {file.name: file.size for file in folder.store.files()}
    kinds: dict[str, JsonObject] = {}
    owners: dict[int, Usage] = defaultdict(Usage)
    for kind in media_usage.KINDS:
        total = Usage()
        async for owner, name in _files(db, kind):
            progress(1)
            size = sizes.get(name) or folder.size_waiting(name)
            if size is not None:
                total.add(size)
                if owner is not None:
                    owners[owner].add(size)
        kinds[kind] = {"files": total.files, "bytes": total.bytes}
    for made, (size, count) in (await media_usage.copies(db)).items():
        kinds[f"copies of other servers, {made}"] = {"files": count, "bytes": size}
    whole = {name: sum(one[name] for one in kinds.values()) for name in ("files", "bytes")}
    return whole | {"kinds": kinds, "accounts": await _largest(db, owners, most)}


async def _largest(db: Connection, owners: Mapping[int, Usage], most: int) -> list[JsonObject]:
    largest = sorted(owners, key=lambda id: owners[id].bytes, reverse=True)[:most]
    rows = await accounts.find_many(db, largest)
    return [
        {"account": rows[id].acct, "files": owners[id].files, "bytes": owners[id].bytes} for id in largest if id in rows
    ]


def remove(run: Transact, folder: Folder, days: int, removed: RemovedMedia, progress: Callable[[int], None]) -> None:
    """Delete the rows of what was not used for some days, and their files, in batches.

    `removed` and `progress` are told of each batch. If it is interrupted, the next call does the rest. The audit log
    has an entry before, because a killed command can't write one afterwards, and one with the numbers.
    """
    run(_log, "remove_media", days, {})
    try:
        for kind in KINDS:
            after: int | None = 0
            while after is not None:
                batch = run(_delete_some, kind, days, after)
                removed.counts[kind] += batch.count
                removed.left += _remove_files(folder, batch.files)
                progress(batch.count)
                after = batch.after
    finally:
        run(_log, "removed_media", days, removed.by_kind)


async def count_unused(db: Connection, days: int, ids: Ids, now: datetime) -> RemovedMedia:
    """Delete all rows of what was not used for some days, in a transaction that is taken back."""
    counted = RemovedMedia()
    for kind in KINDS:
        after: int | None = 0
        while after is not None:
            batch = await _delete_some(db, kind, days, after, ids, now)
            counted.counts[kind] += batch.count
            after = batch.after
    return counted


async def _delete_some(db: Connection, kind: str, days: int, after: int, ids: Ids, now: datetime) -> Batch:
    """Delete the next rows of a kind. The server removes the files that can't be removed here."""
    act, before, files = act_at_command_line(ids, now), now - timedelta(days=days), list[str]()

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        files.extend(name for one in promises if isinstance(one.effect, RemoveFiles) for name in one.effect.names)
        await act.promise(db, promises)

    if kind == cleaning.CARDS:
        swept = await cleaning.delete_cards(db, promise, after, before)
        batch = Batch(swept.count, files, swept.last_id)
    else:
        delete = cleaning.delete_loose if kind == cleaning.LOOSE else cleaning.delete_copies
        gone = await delete(db, promise, before)
        batch = Batch(gone, files, 0 if gone else None)
    if files:
        await notices.announce(db, "outbox")
    return batch


async def _log(db: Connection, action: str, days: int, counts: dict[str, int], ids: Ids, now: datetime) -> None:
    act = act_at_command_line(ids, now)
    await act.log(db, action, Target("media", None, number_of(days, "days")), "", **counts)


def _remove_files(folder: Folder, names: Sequence[str]) -> int:
    """Remove files whose rows are deleted. Return how many could not be removed: the server has promised to do it.

    No file is left at once, also without a running server: a full disk may be what keeps it from starting.
    """
    left = 0
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


async def count_over_budget(db: Connection, value: int | None, ids: Ids, now: datetime) -> JsonObject:
    """Remove what is over a budget, by default the one that is in force. Return how many files, and their bytes.

    For a dry run: the caller rolls the transaction back.
    """
    if value is not None:
        await change_budget(db, value, ids, now)
    before, counts = await media_budget.total(db), Counter[str]()

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        counts["files"] += sum(len(one.effect.names) for one in promises if isinstance(one.effect, RemoveFiles))

    while await cleaning.apply_budget(db, promise):
        pass
    return {"files": counts["files"], "bytes": before - await media_budget.total(db)}


async def _files(db: Connection, kind: str) -> AsyncGenerator[tuple[int | None, str]]:
    """Return the files of a kind with the accounts that they belong to."""
    after = 0
    while page := await media_usage.page(db, kind, after, ROWS_AT_ONCE):
        after = page[-1].key
        for row in page:
            for name in row.files:
                yield row.owner, name
