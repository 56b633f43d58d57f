"""Signing up through an app. A new user's address has to be confirmed by mail, which this server can't send yet: for
as long as that is so nobody is let in here, whatever the setting, and operators make accounts on the command line."""

from __future__ import annotations

from ...storage.oauth import Token
from ..answer import Answer
from ..errors import Forbidden
from ..routing import api


@api.post("/api/v1/accounts", auth="app", scopes=("write:accounts",))
def register(token: Token) -> Answer:
    """A refusal, for now."""
    if token.account_id is not None:
        raise Forbidden("This method requires an client credentials authentication")
    raise Forbidden
