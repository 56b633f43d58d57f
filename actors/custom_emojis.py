"""The custom emoji of this server in memory: there are few, and each rendered text asks for them."""

from __future__ import annotations

from collections.abc import Iterable

import trio

from ..storage import custom_emojis
from ..storage.custom_emojis import CustomEmoji
from ..storage.engine.database import Database, StorageError
from .facts import ChangedCustomEmojis, Facts
from .rules.emojis import shortcodes_in

NOTICE = "custom_emojis"
RETRY = 1.0  # seconds until rows that could not be read are read again


class CustomEmojis:
    """The emoji that are not disabled, in the order of their names."""

    __slots__ = ("_by_shortcode",)

    def __init__(self, rows: Iterable[CustomEmoji] = ()) -> None:
        self._by_shortcode = {row.shortcode: row for row in rows if not row.disabled}

    @property
    def all(self) -> Iterable[CustomEmoji]:
        return self._by_shortcode.values()

    def find(self, shortcode: str) -> CustomEmoji | None:
        return self._by_shortcode.get(shortcode)

    def used_in(self, texts: Iterable[str]) -> list[CustomEmoji]:
        """Return the emoji that texts use, each once, in the order of their first use."""
        if not self._by_shortcode:
            return []
        found = (self._by_shortcode.get(shortcode) for shortcode in dict.fromkeys(shortcodes_in(texts)))
        return [one for one in found if one is not None]


class CustomEmojiLoader:
    """Reads the rows at start and after each change, and publishes them as a fact."""

    def __init__(self, database: Database, facts: Facts) -> None:
        self._database = database
        self._facts = facts
        self._reading = trio.Lock()
        self._changed = trio.Event()

    def wake(self) -> None:
        """Read the rows again."""
        self._changed.set()

    async def reload(self) -> None:
        """Read the rows again, after a commit. While the database is lost, the child goes on trying."""
        try:
            await self._load()
        except StorageError:
            self.wake()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._load_at_last()
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_current)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _keep_current(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()  # before the rows are read: a change meanwhile is read in the next round
            await self._load_at_last()

    async def _load_at_last(self) -> None:
        while True:
            try:
                return await self._load()
            except StorageError:
                await trio.sleep(RETRY)  # the lost database is logged elsewhere

    async def _load(self) -> None:
        """One after the other, so that no older rows replace newer ones."""
        async with self._reading:
            rows = await self._database.read(custom_emojis.find_local)
            await self._facts.apply([ChangedCustomEmojis(tuple(rows))])
