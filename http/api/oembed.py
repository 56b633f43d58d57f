"""oEmbed (oembed.com): from the URL of a status to a frame that other sites can show."""

from __future__ import annotations

import html

from ...actors.activitypub.names import LocalStatusName
from ...actors.shown.statuses import ShownStatus
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..intake.parameters import Count, Given, Input
from ..router import api
from ..views.statuses import find_visible
from ..views.titles import name_of, title_of

WIDTH = 400  # in pixels, unless the request has a size
HEIGHT = 300
LARGEST = 2000
A_DAY = 86400  # seconds for which a site may cache the answer
# Links open in new windows without the sandbox. The page has no script and no form. It needs its own origin, because
# some browsers would otherwise refuse its pictures by its content security policy.
SANDBOX = "allow-same-origin allow-popups allow-popups-to-escape-sandbox"


class Embedding(Input):
    url: Given
    maxwidth: Count = None
    maxheight: Count = None


@api.get("/api/oembed", returns="OEmbed")
async def show(context: HttpContext, wanted: Embedding) -> Answer:
    """A public or unlisted status of this server. A token is ignored, because other sites show it to their visitors."""
    settings = context.settings
    shown = await _find(context, wanted.url)
    author = shown.author
    width, height = size_of(wanted.maxwidth, WIDTH), size_of(wanted.maxheight, HEIGHT)
    return json(
        {
            "type": "rich",
            "version": "1.0",
            "title": title_of(shown),
            "author_name": name_of(author),
            "author_url": author.url or author.uri,
            "provider_name": settings.local_domain,
            "provider_url": f"{settings.base_url}/",
            "cache_age": A_DAY,
            "html": frame_html(shown, settings.base_url, width, height),
            "width": width,
            "height": height,
        }
    )


async def _find(context: HttpContext, url: str) -> ShownStatus:
    named = context.federation.names.read(url)
    # The URL of a boost leads to another status.
    if not isinstance(named, LocalStatusName) or await context.federation.own_addresses.find(url) != named.id:
        raise NotFound
    shown = await find_visible(context, None, named.id)
    if shown.author.domain is not None:
        raise NotFound
    return shown


def frame_html(shown: ShownStatus, base_url: str, width: int, height: int) -> str:
    """Return the HTML of a frame with the embedded page of the status."""
    address, title = (
        html.escape(text) for text in (f"{base_url}/@{shown.author.username}/{shown.id}/embed", title_of(shown))
    )
    return (
        f'<iframe src="{address}" title="{title}" width="{width}" height="{height}" sandbox="{SANDBOX}"'
        ' allow="fullscreen" loading="lazy" style="max-width: 100%; border: 0"></iframe>'
    )


def size_of(asked: int | None, otherwise: int) -> int:
    """Return the requested size in pixels, up to `LARGEST`; `otherwise` if it is not a size."""
    return min(asked, LARGEST) if asked is not None and asked > 0 else otherwise
