"""Addresses that pages have on servers of Mastodon. Old links, apps and feed readers have them.

Accounts and statuses had them in its earlier web client, and other servers look them up: each leads to the page, which
answers other servers with the document.
"""

from __future__ import annotations

from urllib.parse import quote

from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..router import api
from ..views.accounts import local_username
from ..views.statuses import find_visible
from .posts import path_of


@api.get("/web/@<name>", page=True)
@api.get("/deck/@<name>", page=True)
def lead_to_account(context: HttpContext, name: str) -> Answer:
    return redirect(f"/@{local_username(context, name)}")


@api.get("/web/@<name>/<id>", page=True)
@api.get("/deck/@<name>/<id>", page=True)
def lead_to_status_of(context: HttpContext, name: str, id: int) -> Answer:
    return redirect(f"/@{local_username(context, name)}/{id}")


@api.get("/web/statuses/<id>", page=True)
@api.get("/statuses/<id>", page=True)
async def lead_to_status(context: HttpContext, id: int) -> Answer:
    """A status of this server that everybody may see: the address would tell who has written another one."""
    shown = await find_visible(context, None, id)
    if not shown.author.local:
        raise NotFound
    return redirect(path_of(shown))


@api.get("/users/<name>.rss", page=True)
def lead_to_feed(context: HttpContext, name: str) -> Answer:
    return redirect(f"/@{local_username(context, name)}.rss")


@api.get("/about/more", page=True)
def lead_to_about() -> Answer:
    return redirect("/about")


@api.get("/privacy-policy", page=True)
def lead_to_privacy() -> Answer:
    return redirect("/privacy")


@api.get("/terms-of-service", page=True)
def lead_to_terms() -> Answer:
    return redirect("/terms")


@api.get("/terms-of-service/<date>", page=True)
def lead_to_terms_of(date: str) -> Answer:
    return redirect(f"/terms/{quote(date, safe='')}")


@api.get("/auth/edit", page=True)
@api.get("/settings/profile", page=True)
@api.get("/settings/preferences", page=True)
def lead_to_settings() -> Answer:
    return redirect("/settings")


@api.get("/oauth/authorized_applications", page=True)
def lead_to_applications() -> Answer:
    return redirect("/settings/applications")
