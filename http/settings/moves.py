"""The pages that move the account to another account, and list the accounts that may move here (aliases).

A move needs both sides: the old account points to the new account, and the new account has the old as an alias.
"""

from __future__ import annotations

import trio

from ...actors.commands.moves import AddAlias, MoveAway, MoveBack, RemoveAlias
from ...actors.federation.actor_documents import is_known_as
from ...actors.federation.errors import DocumentUnavailable
from ...actors.kernel import Refused
from ...actors.rules.identity import handle_of, without_signs_around
from ...storage import moves, two_factor
from ...storage.accounts import Account
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Text
from ..intake.request import Request
from ..router import api
from ..views.resolving import web_address_of
from .signed_in import SettingsForm, SignedIn, sender_of, signed_in
from .two_factor import CodeForm, problems_of

PATIENCE = 20.0  # seconds for the server of the other account
NOT_FOUND = "This account was not found. Its server may be away, or the handle is wrong."
ITSELF = "This is the account itself."
NO_ALIAS = "That account does not name this one as an alias. Add the alias there first."
GONE_ON = "That account has moved to another one itself."


class AliasForm(SettingsForm):
    handle: Text = ""


class RemovedAlias(SettingsForm):
    uri: Text = ""


class MoveForm(CodeForm):
    target: Text = ""


@api.get("/settings/move", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the aliases, the account to which this account has moved, and the forms."""
    return await _page(await signed_in(context, request))


@api.post("/settings/move", page=True, rates=(rates.CONFIRMATIONS,))
async def move(context: HttpContext, request: Request, posted: MoveForm) -> Answer:
    """Move to another account. It is fetched again, because it must have this account as an alias now."""
    me = await sender_of(context, request, posted)
    if problems := await problems_of(me, posted):
        return await _page(me, problems, target=posted.target)
    target = await _find(me, posted.target, anew=True)
    problem = NOT_FOUND if target is None else await _problem_of(me, target)
    if target is None or problem is not None:
        return await _page(me, {"target": problem or NOT_FOUND}, target=posted.target)
    try:
        await me.ask(MoveAway(target.id))
    except Refused as refused:
        return await _page(me, {"target": f"{refused.text}."}, target=posted.target)
    return redirect("/settings?done=moved")


@api.post("/settings/move/back", page=True)
async def move_back(context: HttpContext, request: Request, posted: CodeForm) -> Answer:
    """End the move. Followers who have moved are not moved back."""
    me = await sender_of(context, request, posted)
    if problems := await problems_of(me, posted):
        return await _page(me, problems)
    await me.ask(MoveBack())
    return redirect("/settings?done=moved_back")


@api.post("/settings/aliases", page=True, rates=(rates.CONFIRMATIONS,))
async def add_alias(context: HttpContext, request: Request, posted: AliasForm) -> Answer:
    """Let another account move here."""
    me = await sender_of(context, request, posted)
    found = await _find(me, posted.handle, anew=False)
    if found is None or found.id == me.user.account_id:
        return await _page(me, {"handle": NOT_FOUND if found is None else ITSELF}, handle=posted.handle)
    try:
        await me.ask(AddAlias(found.uri))
    except Refused as refused:
        return await _page(me, {"handle": f"{refused.text}."}, handle=posted.handle)
    return redirect("/settings/move")


@api.post("/settings/aliases/remove", page=True)
async def remove_alias(context: HttpContext, request: Request, posted: RemovedAlias) -> Answer:
    me = await sender_of(context, request, posted)
    await me.ask(RemoveAlias(posted.uri))
    return redirect("/settings/move")


async def _find(me: SignedIn, written: str, *, anew: bool) -> Account | None:
    """Return the account of a handle or a URL; None if its server does not answer in time. `anew` fetches it again."""
    resolver, local_domain = me.context.federation.resolver, me.context.settings.local_domain
    named = without_signs_around(written)
    handle, address = handle_of(named, local_domain), web_address_of(named)
    with trio.move_on_after(PATIENCE):
        try:
            found = None
            if handle is not None:
                found = await resolver.account_by_handle(handle[0], handle[1] or local_domain)
            elif address is not None:
                found = await resolver.resource_at(address)
            if not isinstance(found, Account):
                return None
            return await resolver.refresh(found) if anew and not found.local else found
        except DocumentUnavailable:
            return None
    return None


async def _problem_of(me: SignedIn, target: Account) -> str | None:
    """Return the reason why the account can't move to the target; None if it can."""
    if target.id == me.user.account_id:
        return ITSELF
    if target.suspended_at is not None or target.pending:
        return NOT_FOUND
    if target.moved_to_id is not None:
        return GONE_ON
    own = await me.context.accounts.find(me.user.account_id)
    domain = me.context.settings.local_domain
    return None if own is not None and is_known_as(target.also_known_as, own, domain) else NO_ALIAS


async def _page(me: SignedIn, problems: dict[str, str] | None = None, handle: str = "", target: str = "") -> Answer:
    context, account_id = me.context, me.user.account_id
    account = await context.accounts.find(account_id)
    moved_to = None if account is None or account.moved_to_id is None else account.moved_to_id
    new = None if moved_to is None else await context.accounts.find(moved_to)
    return me.page(
        "move.html",
        status=422 if problems else 200,
        aliases=await context.database.read(moves.aliases, account_id),
        moved_to=None if new is None else new.acct,
        needs_code=await context.database.read(two_factor.is_enabled, account_id),
        problems=problems or {},
        handle=handle,
        target=target,
    )
