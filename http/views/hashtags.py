"""Hashtags rendered with the days on which they were used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import orjson

from ...actors.kernel.ids import first_id_at
from ...storage import tags
from ...storage.statuses import StatusTag
from ..access.context import HttpContext
from ..entities.tag import tag_fields

DAYS = 7  # of a hashtag's history
DAY = timedelta(days=1)


async def render_tags(context: HttpContext, found: Sequence[StatusTag], featuring: bool | None = None) -> list[bytes]:
    """Return hashtags in the order given. `featuring` says whether the viewer features them; None without a viewer."""
    today = context.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - DAY * ago for ago in reversed(range(DAYS))]
    uses = await context.database.read(tags.uses, [tag.id for tag in found], [first_id_at(day) for day in days])
    base_url = context.settings.base_url
    return [orjson.dumps(tag_fields(tag, days, uses.get(tag.id, {}), base_url, featuring)) for tag in found]
