"""Sign-up through an app: a token of the app makes an account and a user token. A user's token may too, as in Mastodon.

The user token works once the e-mail address is confirmed.
"""

from __future__ import annotations

from ...actors.rules.complaints import refusal
from ...actors.rules.registration import SignUpData
from ...storage import oauth
from ...storage.oauth import NewToken, Token
from ...storage.secrets import access_token, hash_of
from ..access import rates
from ..access.authentication import check_state
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import Forbidden
from ..entities.application import token_fields
from ..intake.parameters import Input, Prose, Text
from ..intake.request import Request
from ..oauth.registration import check, is_open, sign_up, valid_invite
from ..router import api

ACCEPTED = ("true", "1")


class Registration(Input):
    username: Text = ""
    email: Text = ""
    password: Text = ""
    agreement: Text = ""
    locale: Text = ""
    reason: Prose = ""
    invite_code: Text = ""

    def form(self) -> SignUpData:
        agreement = self.agreement in ACCEPTED
        username = self.username.strip(" ")  # keyboards of phones add a space after a word
        return SignUpData(username, self.email, self.password, agreement, self.locale, self.reason)


@api.post("/api/v1/accounts", auth="app", scopes=("write:accounts",), rates=(rates.NEW_ACCOUNTS,), returns="Token")
async def register(context: HttpContext, request: Request, token: Token, given: Registration) -> Answer:
    """Create an account. The answer is a token for it, with all scopes of the app."""
    invite = await valid_invite(context, given.invite_code)
    if not is_open(context, invite):
        raise Forbidden
    if token.account_id is not None:
        check_state(token, waiting=True, moved=True)
    await context.limits.count_new_account_of_app(request)
    form = given.form()
    checked = await check(context, request, form, invite)
    if checked.complaints:
        raise refusal(checked.complaints)
    application = await context.database.read(oauth.find_application, token.application_id)
    if application is None:
        raise Forbidden
    random, token_id = context.secret(), context.ids.next()
    user = await sign_up(
        context, request, form, checked, application.id,
        lambda id: NewToken(token_id, hash_of(access_token(random, id)), application.id, id, application.scopes),
    )  # fmt: skip
    return json(token_fields(access_token(random, user.account_id), application.scopes, user.created_at))
