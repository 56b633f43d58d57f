"""The page for remote interactions: another server sends our users here to follow an account or to answer a post."""

from __future__ import annotations

from ...actors.activitypub.names import LocalAccountName, LocalStatusName
from ...actors.activitypub.vocabulary import host_of
from ...actors.rules.identity import handle_of
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import Input, Sought
from ..intake.request import Request
from ..router import api
from .heads import Head
from .layout import public_page


class InteractionQuery(Input):
    uri: Sought

    @property
    def address(self) -> str:
        return self.uri.strip().removeprefix("acct:")

    def is_address(self, local_domain: str) -> bool:
        """True for a URL or a handle. Other texts are not shown, because a link could put any words on the page."""
        if any(character.isspace() or not character.isprintable() for character in self.address):
            return False
        return host_of(self.address) is not None or handle_of(self.address, local_domain) is not None


@api.get("/authorize_interaction", page=True)
async def show_interaction(context: HttpContext, request: Request, wanted: InteractionQuery) -> Answer:
    """Show how to find the account or the post in an app. Objects of this server redirect to their page."""
    names = context.federation.names
    if not wanted.is_address(context.settings.local_domain):
        raise NotFound
    match names.read(wanted.address):
        case LocalAccountName(username, None):
            return redirect(f"/@{username}")
        case LocalStatusName(LocalAccountName(username, None), id):
            return redirect(f"/@{username}/{id}")
        case _:
            pass
    head = Head(title="Follow or reply", url=f"{names.base_url}/authorize_interaction", noindex=True)
    return await public_page(context, request, "interact.html", head=head, address=wanted.address)
