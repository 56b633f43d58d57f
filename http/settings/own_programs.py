"""The page that makes a token for a user's own program: a bot, a script, or a service that needs a token.

These programs can't show the authorization page. Mastodon has this page under "Development".
"""

from __future__ import annotations

from datetime import datetime

from ...actors.rules import scopes
from ...actors.rules.limits import APPLICATION_NAME_CHARACTERS
from ...storage import oauth
from ...storage.engine.database import Connection
from ...storage.oauth import Application, NewToken
from ...storage.secrets import access_token, hash_of
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.parameters import Line, Texts
from ..intake.request import Request
from ..oauth.redirects import OUT_OF_BAND
from ..router import api
from .signed_in import SettingsForm, SignedIn, sender_of, signed_in

# The scopes of own programs. Scopes of staff are not offered: programs for moderation request them by OAuth.
OFFERED = ("read", "write", "follow", "push", "profile")
PATH = "/settings/applications/new"


class OwnProgramForm(SettingsForm):
    name: Line = ""
    scopes: Texts = ()

    def problems(self) -> dict[str, str]:
        """Return an error for each invalid field."""
        found: dict[str, str] = {}
        if not self.name:
            found["name"] = "The name can't be blank."
        if len(self.name) > APPLICATION_NAME_CHARACTERS:
            found["name"] = f"The name is too long (maximum is {APPLICATION_NAME_CHARACTERS} characters)."
        if not self.scopes or not set(self.scopes) <= set(OFFERED):
            found["scopes"] = "Please choose what the program may do."
        return found


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the form."""
    return _page(await signed_in(context, request), OwnProgramForm.read({"scopes": ["read", "write"]}))


@api.post(PATH, page=True, rates=(rates.APPS,))
async def create(context: HttpContext, request: Request, posted: OwnProgramForm) -> Answer:
    """Register the program and make a token. The secrets are shown only now, because only their hashes are stored."""
    me = await sender_of(context, request, posted)
    if problems := posted.problems():
        return _page(me, posted, problems)
    secret, token = context.secret(), access_token(context.secret(), me.user.account_id)
    now = context.clock.now()
    allowed = tuple(scope for scope in OFFERED if scope in posted.scopes)
    application = Application(
        id=context.ids.next(),
        client_id=context.secret(),
        secret_hash=hash_of(secret),
        name=posted.name,
        website=None,
        redirect_uris=(OUT_OF_BAND,),
        scopes=allowed,
        created_at=now,
    )
    new = NewToken(context.ids.next(), hash_of(token), application.id, me.user.account_id, allowed)
    await context.database.transact(_insert, application, new, now)
    return me.page("own_program_made.html", application=application, secret=secret, token=token)


async def _insert(db: Connection, application: Application, new: NewToken, now: datetime) -> None:
    await oauth.insert_application(db, application)
    await oauth.insert_token(db, new, now)


def _page(me: SignedIn, form: OwnProgramForm, problems: dict[str, str] | None = None) -> Answer:
    offered = {scope: scopes.in_words(scope) for scope in OFFERED}
    status = 422 if problems else 200
    return me.page(
        "own_program.html",
        status=status,
        form=form,
        offered=offered,
        most=APPLICATION_NAME_CHARACTERS,
        problems=problems or {},
    )
