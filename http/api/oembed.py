"""oEmbed (oembed.com): a status as HTML that other sites can show, found by its address."""

from __future__ import annotations

import html
import re

from ...actors.statuses import ShownStatus
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..intake.ids import is_id
from ..intake.input import Input
from ..intake.parameters import Count, Given
from ..router import api
from ..views.statuses import find_visible
from ..views.titles import name_of, title_of

# The addresses of a local status: its page, and its ActivityPub id.
PATH = re.compile(r"(?:/@(?P<page>\w{1,30})/|/users/(?P<actor>\w{1,30})/statuses/)(?P<id>[0-9]{1,19})", re.ASCII)
WIDTH = 400  # in pixels, unless the request says how many
HEIGHT = 300
LARGEST = 2000
A_DAY = 86400  # seconds for which a site may keep the answer


class Embedding(Input):
    url: Given
    maxwidth: Count = None
    maxheight: Count = None


@api.get("/api/oembed")
async def show(context: HttpContext, wanted: Embedding) -> Answer:
    """A public or unlisted status of this server. Who asks does not matter: other sites show it to everybody."""
    settings = context.settings
    shown = await _find(context, wanted.url)
    author = shown.author
    name = name_of(author)
    return json(
        {
            "type": "rich",
            "version": "1.0",
            "title": title_of(shown),
            "author_name": name,
            "author_url": author.url or author.uri,
            "provider_name": settings.local_domain,
            "provider_url": f"{settings.base_url}/",
            "cache_age": A_DAY,
            "html": html_of(shown, f"{name} (@{author.username}@{settings.local_domain})"),
            "width": size_of(wanted.maxwidth, WIDTH),
            "height": size_of(wanted.maxheight, HEIGHT),
        }
    )


async def _find(context: HttpContext, url: str) -> ShownStatus:
    base_url = context.settings.base_url
    path = PATH.fullmatch(url.removeprefix(base_url)) if url.startswith(f"{base_url}/") else None
    if path is None or not is_id(path["id"]):
        raise NotFound
    shown = await find_visible(context, None, int(path["id"]))
    name = path["page"] or path["actor"]
    if shown.author.domain is not None or shown.author.username.lower() != name.lower() or shown.boosted is not None:
        raise NotFound
    return shown


def html_of(shown: ShownStatus, signature: str) -> str:
    """Return a quotation with a link to the status. Behind a content warning the text is left out."""
    status = shown.status
    url = html.escape(status.url or status.uri)
    text = f"<p>{html.escape(status.spoiler_text)}</p>" if status.spoiler_text else status.content
    return f'<blockquote cite="{url}">{text}<footer><a href="{url}">{html.escape(signature)}</a></footer></blockquote>'


def size_of(asked: int | None, otherwise: int) -> int:
    """Return the size in pixels that a site asked for, if it is one."""
    return min(asked, LARGEST) if asked is not None and asked > 0 else otherwise
