"""The custom emoji of this server, also if they are not in the picker."""

from __future__ import annotations

from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..entities.custom_emoji import emoji_fields
from ..router import api


@api.get("/api/v1/custom_emojis", returns="[CustomEmoji]")
def show(context: HttpContext) -> Answer:
    return json([emoji_fields(emoji, context.settings.base_url) for emoji in context.rendered.emojis.all])
