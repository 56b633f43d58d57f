"""Featured hashtags, which a profile shows."""

from __future__ import annotations

from ...actors.commands.featured_tags import FeatureTag, RemoveFeaturedTag
from ...actors.rules.text import Hashtag, whole_hashtag
from ...actors.rules.visibility import shows_profile
from ...storage import featured_tags
from ...storage.accounts import Account
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array, json
from ..answers.errors import invalid
from ..entities.tag import featured_tag_fields
from ..intake.parameters import Given, Input
from ..router import api
from ..views.accounts import find_account, find_own
from ..views.hashtags import render_tags
from ..views.statuses import perspective_of

READ = ("read:accounts",)
WRITE = ("write:accounts",)
SUGGESTED = 10


class NewFeaturedTag(Input):
    name: Given

    def hashtag(self) -> Hashtag:
        """Return the hashtag, which clients send with or without `#`. Raises 422."""
        found = whole_hashtag(self.name.strip())
        if found is None:
            raise invalid("Name is invalid")
        return found


@api.get("/api/v1/featured_tags", auth="user", scopes=READ, returns="[FeaturedTag]")
async def show(context: HttpContext, viewer: Viewer) -> Answer:
    """The hashtags that the viewer features."""
    return await _featured_by(context, await find_own(context, viewer))


@api.get("/api/v1/accounts/<id>/featured_tags", returns="[FeaturedTag]")
async def show_of(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """The hashtags that an account features; an empty list if it blocks the viewer."""
    account = await find_account(context, id)
    if not shows_profile(account.id, await perspective_of(viewer)):
        return array([])
    return await _featured_by(context, account)


@api.get("/api/v1/featured_tags/suggestions", auth="user", scopes=READ, returns="[Tag]")
async def suggest(context: HttpContext, viewer: Viewer) -> Answer:
    """Hashtags that the viewer uses often and does not feature."""
    found = await context.database.read(featured_tags.suggestions, viewer.account_id, SUGGESTED)
    return array(await render_tags(context, viewer, found))


@api.post("/api/v1/featured_tags", auth="user", scopes=WRITE, returns="FeaturedTag")
async def feature(context: HttpContext, viewer: Viewer, new: NewFeaturedTag) -> Answer:
    """Feature a hashtag. A hashtag that is featured already does not change."""
    featured = await viewer.ask(FeatureTag.of(new.hashtag()))
    return json(featured_tag_fields(featured, await find_own(context, viewer)))


@api.delete("/api/v1/featured_tags/<id>", auth="user", scopes=WRITE, returns="{}")
async def unfeature(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RemoveFeaturedTag(id))
    return EMPTY


async def _featured_by(context: HttpContext, account: Account) -> Answer:
    found = await context.database.read(featured_tags.of_account, account.id)
    return json([featured_tag_fields(tag, account) for tag in found])
