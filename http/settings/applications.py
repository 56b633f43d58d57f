"""The apps that a user has authorized, and the revocation of their tokens."""

from __future__ import annotations

from ...actors.facts.access import RevokedToken
from ...actors.rules import scopes
from ...storage import oauth
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Text, is_id
from ..intake.request import Request
from ..router import api
from .signed_in import SettingsForm, sender_of, signed_in

SHOWN = 200


class RevocationForm(SettingsForm):
    application_id: Text = ""


@api.get("/settings/applications", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the apps, newest first."""
    me = await signed_in(context, request)
    found = await context.database.read(oauth.authorized, me.user.account_id, SHOWN)
    apps = [{"app": app, "scopes": [scopes.in_words(scope) for scope in app.scopes]} for app in found]
    return me.page("applications.html", apps=apps)


@api.post("/settings/applications", page=True)
async def revoke(context: HttpContext, request: Request, posted: RevocationForm) -> Answer:
    """Revoke all tokens of an app. Its streams and push subscriptions end at once."""
    me = await sender_of(context, request, posted)
    id = posted.application_id
    if is_id(id):
        with context.facts.publishing():
            revoked = await context.database.transact(
                oauth.revoke_application, me.user.account_id, int(id), context.clock.now()
            )
            await context.facts.apply([RevokedToken(token_hash) for token_hash in revoked])
    return redirect("/settings/applications")
