"""Hashtags, one by one."""

from __future__ import annotations

from ...actors.commands.featured_tags import FeatureTag, UnfeatureTag
from ...actors.rules.text import tag_name, whole_hashtag
from ...storage import featured_tags, tags
from ...storage.statuses import Tag
from ..answer import Answer
from ..authentication import Viewer
from ..errors import NotFound
from ..hashtags import render_tags
from ..house import House
from ..routing import api, path_id

WRITE = ("write:accounts",)


@api.get("/api/v1/tags/<name>")
async def show(house: House, viewer: Viewer | None, name: str) -> Answer:
    """A hashtag that somebody has used."""
    return await _answer(house, viewer, await _find(house, name))


@api.post("/api/v1/tags/<name>/feature", auth="user", scopes=WRITE)
async def feature(house: House, viewer: Viewer, name: str) -> Answer:
    """Show it on the viewer's profile, be it used or not."""
    hashtag = whole_hashtag(name)
    if hashtag is None:
        tag = await _find(house, name)
        await viewer.ask(FeatureTag(tag.name, tag.display_name))
    else:
        await viewer.ask(FeatureTag.of(hashtag))
    return await _answer(house, viewer, await _find(house, name))


@api.post("/api/v1/tags/<name>/unfeature", auth="user", scopes=WRITE)
async def unfeature(house: House, viewer: Viewer, name: str) -> Answer:
    tag = await _find(house, name)
    await viewer.ask(UnfeatureTag(tag.id))
    return await _answer(house, viewer, tag)


async def _find(house: House, named: str) -> Tag:
    """By its name or, as digits alone are no name, by its id."""
    if named.isascii() and named.isdigit():
        found = await house.database.read(tags.find_by_id, path_id(named))
    else:
        found = await house.database.read(tags.find, tag_name(named.removeprefix("#")))
    if found is None:
        raise NotFound
    return found


async def _answer(house: House, viewer: Viewer | None, tag: Tag) -> Answer:
    featuring = None
    if viewer is not None:
        featured = await house.database.read(featured_tags.of_account, viewer.account_id)
        featuring = any(one.tag_id == tag.id for one in featured)
    (body,) = await render_tags(house, [tag], featuring)
    return Answer(body)
