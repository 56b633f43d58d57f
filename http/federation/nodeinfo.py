"""NodeInfo: the software of this server and how much it is used, for other servers and for statistics sites."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import orjson

from ... import __version__
from ...storage import instance
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..router import api

SCHEMA = "http://nodeinfo.diaspora.software/ns/schema/"
MONTH = timedelta(days=30)
HALF_YEAR = timedelta(days=180)

Version = Literal["2.0", "2.1"]


@api.get("/.well-known/nodeinfo", without_memory=True)
def show_nodeinfo_links(context: HttpContext) -> Answer:
    versions: tuple[Version, ...] = ("2.0", "2.1")
    base_url = context.settings.base_url
    return json(
        {"links": [{"rel": SCHEMA + version, "href": f"{base_url}/nodeinfo/{version}"} for version in versions]}
    )


@api.get("/nodeinfo/2.0")
async def show_nodeinfo(context: HttpContext) -> Answer:
    return await _show(context, "2.0")


@api.get("/nodeinfo/2.1")
async def show_nodeinfo_2_1(context: HttpContext) -> Answer:
    """Show NodeInfo 2.1, which adds the homepage of the software."""
    return await _show(context, "2.1")


async def _show(context: HttpContext, version: Version) -> Answer:
    async def make() -> bytes:
        return orjson.dumps(await _nodeinfo(context, version))

    profile = f'application/json; profile="{SCHEMA}{version}#"; charset=utf-8'
    body = await context.kept.get(f"nodeinfo {version}", context.clock.now(), make)
    return Answer(body, content_type=profile)


async def _nodeinfo(context: HttpContext, version: Version) -> dict[str, object]:
    now = context.clock.now()
    month = await context.database.read(instance.numbers, now - MONTH)
    half_year = await context.database.read(instance.numbers, now - HALF_YEAR)
    software = {"name": "troupe", "version": __version__}
    return {
        "version": version,
        "software": software if version == "2.0" else software | {"homepage": context.settings.base_url},
        "protocols": ["activitypub"],
        "services": {"inbound": [], "outbound": []},
        "usage": {
            "users": {"total": month.users, "activeMonth": month.active, "activeHalfyear": half_year.active},
            "localPosts": month.statuses,
        },
        "openRegistrations": context.sign_ups.rule != "closed",
        "metadata": {"nodeName": context.settings.title, "nodeDescription": context.settings.description},
    }
