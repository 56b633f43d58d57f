"""A hashtag: shown, and featured on the viewer's profile."""

from __future__ import annotations

from dataclasses import replace

from ...actors.commands.featured_tags import FeatureTag, UnfeatureTag
from ...actors.rules.text import whole_hashtag
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..router import api
from ..views.hashtags import answer_with_tag, find_tag

WRITE = ("write:accounts",)


@api.get("/api/v1/tags/<name>", returns="Tag")
async def show(context: HttpContext, viewer: Viewer | None, name: str) -> Answer:
    """A hashtag with the history of its uses. It need not be in use."""
    return await answer_with_tag(context, viewer, await find_tag(context, name))


@api.post("/api/v1/tags/<name>/feature", auth="user", scopes=WRITE, returns="Tag")
async def feature(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    """Show a hashtag on the viewer's profile. It need not be in use."""
    tag = await find_tag(context, name)
    written = whole_hashtag(name)
    featured = await viewer.ask(FeatureTag(tag.name, tag.display_name if written is None else written.text))
    return await answer_with_tag(context, viewer, replace(tag, id=featured.tag_id))


@api.post("/api/v1/tags/<name>/unfeature", auth="user", scopes=WRITE, returns="Tag")
async def unfeature(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    tag = await find_tag(context, name)
    await viewer.ask(UnfeatureTag(tag.id))
    return await answer_with_tag(context, viewer, tag)
