"""The files of the site for browsers and crawlers: style sheets, script, icons, manifest, robots.txt."""

from __future__ import annotations

import orjson

from ..access.context import HttpContext
from ..answers.answer import Answer
from ..pages.templates import asset
from ..pictures import emblem
from ..router import api

PNG = "image/png"
CSS = "text/css; charset=utf-8"
A_DAY = (("Cache-Control", "public, max-age=86400"),)
# The URLs of style sheets and the script have a part of their hash.
FOR_EVER = (("Cache-Control", "public, max-age=31536000, immutable"),)
ICON = 48  # pixels
LARGE_ICON = 192

# Crawlers have no use for these, but for what shows a post on another site. The pages themselves say whether they may
# be indexed.
ROBOTS = b"""User-agent: *
Allow: /api/oembed
Disallow: /api/
Disallow: /auth/
Disallow: /oauth/
"""


@api.get("/style.css", without_memory=True)
def show_style() -> Answer:
    """The style sheet of all pages."""
    return Answer(asset("style.css"), 200, FOR_EVER, CSS)


@api.get("/staff.css", without_memory=True)
def show_style_for_staff() -> Answer:
    """The further style sheet of the pages for staff."""
    return Answer(asset("staff.css"), 200, FOR_EVER, CSS)


@api.get("/staff.js", without_memory=True)
def show_script() -> Answer:
    """The only script of this server. It updates parts of the pages for staff."""
    return Answer(asset("staff.js"), 200, FOR_EVER, "text/javascript; charset=utf-8")


@api.get("/favicon.ico", without_memory=True)
def show_icon() -> Answer:
    return Answer(emblem.icon(ICON), 200, A_DAY, "image/x-icon")


@api.get("/apple-touch-icon.png", without_memory=True)
def show_large_icon() -> Answer:
    return Answer(emblem.emblem_png(LARGE_ICON), 200, A_DAY, PNG)


@api.get("/thumbnail.png", without_memory=True)
def show_banner() -> Answer:
    """The picture of this server, for its description in the API and for link previews."""
    return Answer(emblem.banner_png(), 200, A_DAY, PNG)


@api.get("/manifest.json")
def show_manifest(context: HttpContext) -> Answer:
    """The site for home screens: its name, its icon, and the page that is sent what people share."""
    size = f"{LARGE_ICON}x{LARGE_ICON}"
    manifest = {
        "name": context.settings.title,
        "start_url": "/",
        # With fewer buttons than a tab: browsers install no site that asks for a tab, and share nothing with it.
        "display": "minimal-ui",
        "icons": [{"src": "/apple-touch-icon.png", "sizes": size, "type": PNG}],
        "share_target": {
            "action": "/share",
            "method": "GET",
            # What a GET has in any case, but Chromium warns of a manifest that does not say so.
            "enctype": "application/x-www-form-urlencoded",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
    }
    return Answer(orjson.dumps(manifest), 200, A_DAY, "application/manifest+json")


@api.get("/robots.txt", without_memory=True)
def show_robots() -> Answer:
    return Answer(ROBOTS, 200, A_DAY, "text/plain; charset=utf-8")
