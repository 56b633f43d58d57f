"""Custom emoji in the rows of a server, without the files of their pictures."""

from typing import Any

from troupe.actors.facts.server import ChangedCustomEmojis
from troupe.storage import custom_emojis
from troupe.storage.custom_emojis import CustomEmoji

from .clients import Stage


async def add_emoji(stage: Stage, shortcode: str, **more: Any) -> CustomEmoji:
    """Add an emoji, as the command does, and have the server learn of it."""
    context = stage.http_context
    id = context.ids.next()
    emoji = CustomEmoji(id, shortcode, f"{id:032x}.gif", f"{id:032x}-small.webp", **more)
    await context.database.transact(custom_emojis.insert_many, [emoji], context.clock.now())
    await reload_emojis(stage)
    return emoji


async def reload_emojis(stage: Stage) -> None:
    """Have the server read the rows again."""
    context = stage.http_context
    await context.facts.apply([ChangedCustomEmojis(tuple(await context.database.read(custom_emojis.find_local)))])
