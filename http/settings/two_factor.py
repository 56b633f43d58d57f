"""The pages that turn two-factor authentication on and off, and make new recovery codes.

The secret and the recovery codes are only shown in the answer to a form with the password or a code.
"""

from __future__ import annotations

from datetime import timedelta

from ...actors.commands.two_factor import DisableTwoFactor, EnableTwoFactor
from ...actors.rules import passwords as rules
from ...storage import two_factor
from ...storage.secrets import hash_of
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Text
from ..intake.request import Request
from ..oauth.second_factor import WRONG_CODE, is_code
from ..router import api
from .signed_in import WRONG_PASSWORD, SettingsForm, SignedIn, sender_of, signed_in

SET_UP_LASTS = timedelta(hours=1)


class CodeForm(SettingsForm):
    code: Text = ""


@api.get("/settings/two_factor", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the state of two-factor authentication, and the forms that change it."""
    return await _page(await signed_in(context, request))


@api.post("/settings/two_factor/new", page=True)
async def begin(context: HttpContext, request: Request, posted: SettingsForm) -> Answer:
    """Make a secret and show it to the user, who then confirms it by a code."""
    me = await sender_of(context, request, posted)
    if not await me.has_password(posted.password):
        return await _page(me, {"password": WRONG_PASSWORD})
    secret = rules.new_secret(context.secret())
    if not await context.database.transact(two_factor.begin, me.user.account_id, secret, context.clock.now()):
        return redirect("/settings/two_factor")
    return _set_up_page(me, secret)


@api.post("/settings/two_factor/confirm", page=True)
async def confirm(context: HttpContext, request: Request, posted: CodeForm) -> Answer:
    """Turn two-factor authentication on if the code belongs to the new secret, and show the recovery codes."""
    me = await sender_of(context, request, posted)
    row, now = await context.database.read(two_factor.find, me.user.account_id), context.clock.now()
    if row is None or row.enabled_at is not None or row.created_at + SET_UP_LASTS < now:
        return redirect("/settings/two_factor")
    step = rules.step_of(row.secret, rules.normalized(posted.code), now)
    if step is None:
        # The secret is not shown again: this form has no password, and may come from a stolen session.
        return me.page("two_factor_new.html", status=422, secret=None, problems={"code": "This code is wrong."})
    codes = _recovery_codes(context)
    if not await me.ask(EnableTwoFactor(row.secret, step, tuple(map(hash_of, codes)))):
        return redirect("/settings/two_factor")
    return me.page("recovery_codes.html", codes=codes)


@api.post("/settings/two_factor/codes", page=True)
async def renew_codes(context: HttpContext, request: Request, posted: CodeForm) -> Answer:
    """Replace the recovery codes."""
    me = await sender_of(context, request, posted)
    if problems := await problems_of(me, posted):
        return await _page(me, problems)
    codes = _recovery_codes(context)
    replaced = await context.database.transact(
        two_factor.replace_recovery_codes, me.user.account_id, [hash_of(code) for code in codes]
    )
    return me.page("recovery_codes.html", codes=codes) if replaced else redirect("/settings/two_factor")


@api.post("/settings/two_factor/off", page=True)
async def turn_off(context: HttpContext, request: Request, posted: CodeForm) -> Answer:
    """Turn two-factor authentication off."""
    me = await sender_of(context, request, posted)
    if problems := await problems_of(me, posted):
        return await _page(me, problems)
    await me.ask(DisableTwoFactor())
    return redirect("/settings?done=two_factor_off")


async def problems_of(me: SignedIn, posted: CodeForm) -> dict[str, str]:
    """Return the errors of a password and, if two-factor authentication is on, of a code.

    The code is only checked if the password is right. A right code can't be used again.
    """
    if not await me.has_password(posted.password):
        return {"password": WRONG_PASSWORD}
    if not await me.context.database.read(two_factor.is_enabled, me.user.account_id):
        return {}
    return {} if await is_code(me.context, me.user.account_id, posted.code) else {"code": WRONG_CODE}


async def _page(me: SignedIn, problems: dict[str, str] | None = None) -> Answer:
    row = await me.context.database.read(two_factor.find, me.user.account_id)
    enabled = None if row is None or row.enabled_at is None else row
    return me.page("two_factor.html", status=422 if problems else 200, enabled=enabled, problems=problems or {})


def _set_up_page(me: SignedIn, secret: str) -> Answer:
    settings = me.context.settings
    address = rules.app_address(secret, f"{me.user.username}@{settings.local_domain}", settings.title)
    import segno  # late: 8 ms, 2.2 MiB, and few people set it up

    picture = segno.make_qr(address).svg_inline(omitsize=True, border=4, dark="#000", light="#fff")
    return me.page("two_factor_new.html", secret=secret, address=address, picture=picture, problems={})


def _recovery_codes(context: HttpContext) -> list[str]:
    random = context.secret()
    return [rules.recovery_code(random, number) for number in range(rules.RECOVERY_CODES)]
