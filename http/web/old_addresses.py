"""Redirects from the paths of Mastodon's pages, which old links, apps and feed readers use.

The paths of accounts and statuses in Mastodon's earlier web client are also requested by other servers. They redirect
to the page, which answers other servers with the document.
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
@api.get("/@<name>/featured", page=True)
@api.get("/@<name>/followers", page=True)
@api.get("/@<name>/following", page=True)
def lead_to_account(context: HttpContext, name: str) -> Answer:
    return redirect(f"/@{local_username(context, name)}")


@api.get("/web/@<name>/<id>", page=True)
@api.get("/deck/@<name>/<id>", page=True)
@api.get("/@<name>/<id>/favourites", page=True)
@api.get("/@<name>/<id>/quotes", page=True)
@api.get("/@<name>/<id>/reblogs", page=True)
def lead_to_status_of(context: HttpContext, name: str, id: int) -> Answer:
    return redirect(f"/@{local_username(context, name)}/{id}")


@api.get("/web/statuses/<id>", page=True)
@api.get("/statuses/<id>", page=True)
async def lead_to_status(context: HttpContext, id: int) -> Answer:
    """Redirect to a public status of this server. 404 for others, because the path would reveal their author."""
    shown = await find_visible(context, None, id)
    if not shown.author.local:
        raise NotFound
    return redirect(path_of(shown))


@api.get("/users/<name>.rss", page=True)
@api.get("/@<name>.atom", page=True)
def lead_to_feed(context: HttpContext, name: str) -> Answer:
    """Redirect feed readers, which read RSS where they expect Atom. `/users/NAME.atom` was of OStatus, and is gone."""
    return redirect(f"/@{local_username(context, name)}.rss")


@api.get("/tags/<name>.atom", page=True)
def lead_to_feed_of_tag(name: str) -> Answer:
    return redirect(f"/tags/{quote(name, safe='')}.rss")


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
@api.get("/settings/preferences/appearance", page=True)
@api.get("/settings/preferences/notifications", page=True)
@api.get("/settings/preferences/other", page=True)
@api.get("/settings/preferences/posting_defaults", page=True)
@api.get("/settings/privacy", page=True)
@api.get("/settings/login_activities", page=True)
@api.get("/filters", page=True)
def lead_to_settings() -> Answer:
    return redirect("/settings")


@api.get("/oauth/authorized_applications", page=True)
def lead_to_applications() -> Answer:
    return redirect("/settings/applications")


@api.get("/settings/two_factor_authentication_methods", page=True)
@api.get("/settings/otp_authentication", page=True)
def lead_to_two_factor() -> Answer:
    return redirect("/settings/two_factor")


@api.get("/settings/aliases", page=True)
@api.get("/settings/migration", page=True)
def lead_to_moves() -> Answer:
    return redirect("/settings/move")


@api.get("/settings/imports", page=True)
def lead_to_imports() -> Answer:
    return redirect("/settings/import")


@api.get("/admin/dashboard", page=True)
def lead_to_staff() -> Answer:
    return redirect("/admin")
