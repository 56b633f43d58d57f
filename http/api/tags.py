"""Hashtags, one by one."""

from __future__ import annotations

from dataclasses import replace

from ...actors.commands.featured_tags import FeatureTag, UnfeatureTag
from ...actors.rules.text import tag_name, whole_hashtag
from ...storage import featured_tags, tags
from ...storage.statuses import StatusTag
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.ids import UNKNOWN_ID
from ..router import api, path_id
from ..views.hashtags import render_tags

WRITE = ("write:accounts",)


@api.get("/api/v1/tags/<name>")
async def show(context: HttpContext, viewer: Viewer | None, name: str) -> Answer:
    """A hashtag with the days on which it was used, which may be none."""
    return await _answer(context, viewer, await _find(context, name) or _unused(name))


@api.post("/api/v1/tags/<name>/feature", auth="user", scopes=WRITE)
async def feature(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    """Show a hashtag on the viewer's profile. It need not be in use."""
    tag = await _find(context, name) or _unused(name)
    written = whole_hashtag(name)
    featured = await viewer.ask(FeatureTag(tag.name, tag.display_name if written is None else written.text))
    return await _answer(context, viewer, replace(tag, id=featured.tag_id))


@api.post("/api/v1/tags/<name>/unfeature", auth="user", scopes=WRITE)
async def unfeature(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    tag = await _find(context, name) or _unused(name)
    await viewer.ask(UnfeatureTag(tag.id))
    return await _answer(context, viewer, tag)


async def _find(context: HttpContext, named: str) -> StatusTag | None:
    """Find a hashtag by its name or by its id. Digits alone are never a name."""
    if named.isascii() and named.isdigit():
        return await context.database.read(tags.find_by_id, path_id(named))
    return await context.database.read(tags.find, tag_name(named))


def _unused(named: str) -> StatusTag:
    """The hashtag of a well-formed name that no status has used; 404 for an ill-formed name."""
    hashtag = whole_hashtag(named)
    if hashtag is None:
        raise NotFound
    return StatusTag(UNKNOWN_ID, hashtag.name, hashtag.text)


async def _answer(context: HttpContext, viewer: Viewer | None, tag: StatusTag) -> Answer:
    featuring = None
    if viewer is not None:
        featured = await context.database.read(featured_tags.of_account, viewer.account_id)
        featuring = any(one.tag_id == tag.id for one in featured)
    (body,) = await render_tags(context, [tag], featuring)
    return Answer(body)
