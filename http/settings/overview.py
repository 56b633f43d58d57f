"""The first page of the settings: links, the signed-in browsers, and the sign-out."""

from __future__ import annotations

from ...storage import sessions as session_rows
from ...storage.secrets import hash_of
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Input, Text
from ..intake.request import Request
from ..oauth import sessions
from ..router import api
from .signed_in import SettingsForm, sender_of, signed_in

SHOWN_SESSIONS = 50
# The notices after actions on other pages.
DONE = {
    "password": "Your password was changed. All other browsers are signed out.",
    "email_asked": "A mail is on its way to the new address. It is yours when you have opened the link in it.",
    "two_factor_off": "Two-factor authentication is off.",
    "moved": "Your account has moved. Your followers are asked to follow the new one.",
    "moved_back": "Your account is in use again.",
    "sessions": "All other browsers are signed out.",
}


class OverviewQuery(Input):
    done: Text = ""


@api.get("/settings", page=True)
async def show(context: HttpContext, request: Request, after: OverviewQuery) -> Answer:
    """Show the settings."""
    me = await signed_in(context, request)
    rows = await context.database.read(
        session_rows.of_account, me.user.account_id, context.clock.now(), SHOWN_SESSIONS
    )  # fmt: skip
    here = hash_of(me.secret)
    return me.page(
        "settings.html",
        done=DONE.get(after.done),
        sessions=[{"agent": row.agent, "since": row.created_at, "here": row.token_hash == here} for row in rows],
    )


@api.post("/settings/sign_out", page=True)
async def sign_out(context: HttpContext, request: Request, posted: SettingsForm) -> Answer:
    """End this browser's session."""
    me = await sender_of(context, request, posted)
    fresh = await sessions.sign_out(context, me.secret)
    return redirect("/auth/sign_in", sessions.cookie(context, fresh))


@api.post("/settings/sessions", page=True)
async def end_others(context: HttpContext, request: Request, posted: SettingsForm) -> Answer:
    """End the sessions of all other browsers."""
    me = await sender_of(context, request, posted)
    await context.database.transact(session_rows.delete_others, me.user.account_id, hash_of(me.secret))
    return redirect("/settings?done=sessions")
