"""Where another server sends people who want to follow or answer with an account of this one."""

from __future__ import annotations

from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.input import Input
from ..intake.parameters import Sought
from ..intake.request import Request
from ..router import api
from .heads import Head
from .layout import public_page


class Interaction(Input):
    uri: Sought

    @property
    def address(self) -> str:
        return self.uri.strip().removeprefix("acct:")


@api.get("/authorize_interaction", page=True)
async def show_interaction(context: HttpContext, request: Request, wanted: Interaction) -> Answer:
    """How to find the account or the post in an app. What is of this server has a page of its own."""
    names = context.federation.names
    if (status := names.status_of(wanted.address)) is not None:
        return redirect(f"/@{status.username}/{status.id}")
    if (username := names.username_of(wanted.address)) is not None:
        return redirect(f"/@{username}")
    head = Head(title="Follow or reply", url=f"{names.base_url}/authorize_interaction", noindex=True)
    return await public_page(context, request, "interact.html", head=head, address=wanted.address)
