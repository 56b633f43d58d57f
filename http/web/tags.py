"""The page of a hashtag: the public statuses with it."""

from __future__ import annotations

from collections.abc import Sequence

from ...actors.broadcast.broadcast import tag_address
from ...actors.rules.text import tag_url, whole_hashtag
from ...actors.rules.visibility import ANONYMOUS
from ...actors.shown.statuses import ShownStatus
from ...actors.timelines.tag import TagPage
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from ..views.statuses import visible_among
from .heads import Head, asks_not_to_be_indexed
from .layout import public_page
from .paging import ListPosition, neighbours
from .posts import posts_in


@api.get("/tags/<name>", page=True)
async def show(context: HttpContext, request: Request, name: str, position: ListPosition) -> Answer:
    """The newest public statuses with a hashtag, including replies."""
    context.check_preview(None)
    tag = hashtag_named(name)
    ids = await context.runtime.ask(tag_address(tag), TagPage(position.page()), origin=request.origin)
    found = await visible_among(context, ids, ANONYMOUS)
    url = tag_url(context.settings.base_url, tag)
    shown = spelling(tag, found)
    head = Head(
        title=f"#{shown}",
        url=url,
        description=f"Posts about #{shown} on {context.settings.title}",
        feed=f"{url}.rss",
        noindex=not found or asks_not_to_be_indexed(found),
    )
    posts = posts_in(context, found)
    return await public_page(
        context,
        request,
        "tag.html",
        head=head,
        tag=shown,
        posts=posts,
        around=neighbours(tag_url("", tag), position, ids),
    )


def hashtag_named(written: str) -> str:
    """Return the normalized name of a hashtag. Raises NotFound for a text that is not a hashtag."""
    found = whole_hashtag(written)
    if found is None:
        raise NotFound
    return found.name


def spelling(name: str, found: Sequence[ShownStatus]) -> str:
    """Return the first spelling of a hashtag, from a status; without a status, the normalized name."""
    return next((tag.display_name for shown in found for tag in shown.status.tags if tag.name == name), name)
