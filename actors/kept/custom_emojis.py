"""The cache of this server's custom emoji: there are few, and each rendered text needs them."""

from __future__ import annotations

from collections.abc import Iterable

from ...storage import custom_emojis
from ...storage.custom_emojis import CustomEmoji
from ...storage.engine.database import Database
from ..facts.fact import Facts
from ..facts.server import ChangedCustomEmojis
from ..memory.row_loader import RowLoader
from ..rules.emojis import shortcodes_in

NOTICE = "custom_emojis"


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
        return [emoji for emoji in found if emoji is not None]


class CustomEmojiLoader(RowLoader):
    """Reads the rows at start and after each change, and hands them to the caches that observe the fact."""

    def __init__(self, database: Database, facts: Facts) -> None:
        super().__init__()
        self._database = database
        self._facts = facts
        self.current = CustomEmojis()

    async def _read(self) -> None:
        rows = await self._database.read(custom_emojis.find_local)
        self.current = CustomEmojis(rows)
        self._facts.cache([ChangedCustomEmojis(tuple(rows))])
