"""Addresses of accounts and statuses in Mastodon's earlier web client: old links have them, and other servers look
them up. Each leads to the page, which answers other servers with the document."""

from __future__ import annotations

from ...actors.activitypub.names import LocalAccountName, LocalNames
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..router import api
from ..views.statuses import find_visible
from .posts import path_of


@api.get("/web/@<name>", page=True)
@api.get("/deck/@<name>", page=True)
def lead_to_account(context: HttpContext, name: str) -> Answer:
    return redirect(f"/@{_username(name, context.federation.names)}")


@api.get("/web/@<name>/<id>", page=True)
@api.get("/deck/@<name>/<id>", page=True)
def lead_to_status_of(context: HttpContext, name: str, id: int) -> Answer:
    return redirect(f"/@{_username(name, context.federation.names)}/{id}")


@api.get("/web/statuses/<id>", page=True)
@api.get("/statuses/<id>", page=True)
async def lead_to_status(context: HttpContext, id: int) -> Answer:
    """A status of this server that everybody may see: the address would tell who has written another one."""
    shown = await find_visible(context, None, id)
    if not shown.author.local:
        raise NotFound
    return redirect(path_of(shown))


def _username(name: str, names: LocalNames) -> str:
    """Return the name of an account of this server, which may be written with its domain. Raise NotFound."""
    match names.read(f"{names.base_url}/@{name}"):
        case LocalAccountName(username, None):
            return username
        case _:
            raise NotFound
