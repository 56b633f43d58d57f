"""Hashtags with the history of their uses, and with the viewer's flags: followed and featured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import orjson

from ...actors.kernel.clock import first_id_at
from ...actors.rules.text import tag_name, whole_hashtag
from ...actors.shown.trends import Uses, last_days
from ...storage import featured_tags, tags
from ...storage.statuses import StatusTag
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..entities.tag import TagFlags, tag_fields
from ..intake.parameters import UNKNOWN_ID
from ..router import path_id
from .statuses import perspective_of


async def find_tag(context: HttpContext, named: str) -> StatusTag:
    """Return a hashtag by its name or id. A well-formed name need not be in use. Raises NotFound for others."""
    found = await _find(context, named)
    if found is not None:
        return found
    hashtag = whole_hashtag(named)
    if hashtag is None:
        raise NotFound
    return StatusTag(UNKNOWN_ID, hashtag.name, hashtag.text)


async def answer_with_tag(context: HttpContext, viewer: Viewer | None, tag: StatusTag) -> Answer:
    """Answer with a hashtag."""
    (body,) = await render_tags(context, viewer, [tag])
    return Answer(body)


async def render_tags(context: HttpContext, viewer: Viewer | None, found: Sequence[StatusTag]) -> list[bytes]:
    """Return hashtags in the order given."""
    if not found:
        return []
    days = last_days(context.clock.now())
    uses = await context.database.read(tags.uses, [tag.id for tag in found], [first_id_at(day) for day in days])
    return await render_used_tags(context, viewer, found, days, uses)


async def render_used_tags(
    context: HttpContext, viewer: Viewer | None, found: Sequence[StatusTag], days: Sequence[datetime], uses: Uses
) -> list[bytes]:
    """Return hashtags in the order given, with their `uses` on these `days`."""
    flags = await _flags_of(context, viewer, found)
    base_url = context.settings.base_url
    return [orjson.dumps(tag_fields(tag, days, uses.get(tag.id, {}), base_url, flags.get(tag.id))) for tag in found]


async def _flags_of(context: HttpContext, viewer: Viewer | None, found: Sequence[StatusTag]) -> dict[int, TagFlags]:
    """Return the viewer's flags of hashtags, by id; none without a viewer."""
    if viewer is None or not found:
        return {}
    featured = {row.tag_id for row in await context.database.read(featured_tags.of_account, viewer.account_id)}
    followed = (await perspective_of(viewer)).followed_tags
    return {tag.id: TagFlags(tag.name in followed, tag.id in featured) for tag in found}


async def _find(context: HttpContext, named: str) -> StatusTag | None:
    """Find a hashtag by its name or by its id. Digits alone are never a name."""
    if named.isascii() and named.isdigit():
        return await context.database.read(tags.find_by_id, path_id(named))
    return await context.database.read(tags.find, tag_name(named))
