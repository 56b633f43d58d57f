"""The token endpoint and the revocation endpoint."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from urllib.parse import unquote_plus

from pydantic import AfterValidator

from ...actors.facts.access import RevokedToken
from ...actors.rules import scopes
from ...storage import oauth, two_factor
from ...storage.engine.database import Connection
from ...storage.oauth import Application, NewToken, Token
from ...storage.secrets import access_token, equal_secrets, hash_of
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, Headers, json
from ..answers.errors import HttpError, Malformed
from ..entities.application import token_fields
from ..intake.decoding import text
from ..intake.parameters import Input, Text, Texts
from ..intake.request import Request
from ..router import api
from .users import barred, user_with

DESCRIPTIONS = {
    "invalid_grant": "The provided authorization grant is invalid, expired, revoked, does not match the redirection "
    "URI used in the authorization request, or was issued to another client.",
    "invalid_client": "Client authentication failed due to unknown client, no client authentication included, or "
    "unsupported authentication method.",
    "invalid_scope": "The requested scope is invalid, unknown, or malformed.",
    "unsupported_grant_type": "The authorization grant type is not supported by the authorization server.",
    "unauthorized_client": "You are not authorized to revoke this token",
}
TWO_FACTOR = (
    "This account uses two-factor authentication, which needs a code besides the password. "
    "Use the authorization page of this server (grant type authorization_code)."
)
STATUS = {"invalid_client": 401, "unauthorized_client": 403}


class OAuthError(HttpError):
    """An error of RFC 6749: an error code and a description."""

    def __init__(self, word: str, description: str | None = None) -> None:
        described = description or DESCRIPTIONS[word]
        super().__init__(word, description=described, headers=_challenge(word, described))
        self.status = STATUS.get(word, 400)


def _challenge(word: str, described: str) -> Headers:
    if word != "invalid_client":
        return ()
    return (("WWW-Authenticate", f'Bearer realm="Troupe", error="{word}", error_description="{described}"'),)


# Codes and secrets are pasted, with the space or the line end that a selection takes along.
Pasted = Annotated[Text, AfterValidator(str.strip)]


class Client(Input):
    """The client's id and secret in a body."""

    client_id: Pasted = ""
    client_secret: Pasted = ""


class TokenRequest(Client):
    grant_type: Text = ""
    code: Pasted = ""
    redirect_uri: Text = ""
    code_verifier: Text = ""
    username: Text = ""
    password: Text = ""
    scope: Texts = ()  # a text, or a list as some apps send it


class Revocation(Client):
    token: Pasted = ""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token and its secret. Only the secret's hash is stored."""

    secret: str
    token: Token


@api.post("/oauth/token", returns="Token")
async def issue(context: HttpContext, request: Request, wanted: TokenRequest) -> Answer:
    """Issue a token for an authorization code, for the client's secret or, if the operator allows it, a password."""
    if not wanted.grant_type:
        raise OAuthError("invalid_request", "Missing required parameter: grant_type.")
    match wanted.grant_type:
        case "authorization_code":
            issued = await _by_code(context, await _client(context, request, wanted), wanted)
        case "client_credentials":
            issued = await _by_secret(context, await _client(context, request, wanted), wanted)
        case "password" if context.settings.password_grant:
            issued = await _by_password(context, request, await _client(context, request, wanted), wanted)
        case _:
            raise OAuthError("unsupported_grant_type")
    return json(token_fields(issued.secret, issued.token.scopes, issued.token.created_at))


@api.post("/oauth/revoke", returns="{}")
async def revoke(context: HttpContext, request: Request, given: Revocation) -> Answer:
    """Revoke a token. An unknown or revoked token is no error."""
    application = await _find_client(context, request, given)
    if application is None:
        raise OAuthError("unauthorized_client")
    token = await context.database.read(oauth.find_token, hash_of(given.token))
    if token is None:
        return EMPTY
    if token.application_id != application.id:
        raise OAuthError("unauthorized_client")
    with context.facts.publishing():
        await context.database.transact(oauth.revoke, token.token_hash, application.id, context.clock.now())
        await context.facts.apply([RevokedToken(token.token_hash)])
    return EMPTY


# Clients ------------------------------------------------------------------------------------------------------


async def _client(context: HttpContext, request: Request, given: Client) -> Application:
    application = await _find_client(context, request, given)
    if application is None:
        raise OAuthError("invalid_client")
    return application


async def _find_client(context: HttpContext, request: Request, given: Client) -> Application | None:
    """Return the client that is authenticated by HTTP Basic or by the body; None if it is not authenticated."""
    client_id, secret = _basic(request) or (given.client_id, given.client_secret)
    application = await context.database.read(oauth.find_client, client_id) if client_id else None
    if application is None or not equal_secrets(application.secret_hash, hash_of(secret)):
        return None
    return application


def _basic(request: Request) -> tuple[str, str] | None:
    scheme, _, value = (request.header(b"authorization") or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, secret = text(base64.b64decode(value.strip(), validate=True)).partition(":")
    except (ValueError, Malformed):  # not base64, or not a text that could be a client's id
        raise OAuthError("invalid_client") from None
    return unquote_plus(name), unquote_plus(secret)  # RFC 6749, 2.3.1


# Grants -------------------------------------------------------------------------------------------------------


async def _by_code(context: HttpContext, application: Application, wanted: TokenRequest) -> Issued:
    for name in ("code", "redirect_uri"):
        if not getattr(wanted, name):
            raise OAuthError("invalid_request", f"Missing required parameter: {name}.")
    with context.facts.publishing():
        issued = await context.database.transact(
            exchange, application.id, wanted, context.ids.next(), context.secret(), context.clock.now()
        )
        if isinstance(issued, Issued):
            return issued
        if issued is not None:
            await context.facts.apply([RevokedToken(issued)])
    raise OAuthError("invalid_grant")


async def exchange(
    db: Connection, application_id: int, wanted: TokenRequest, token_id: int, random: str, now: datetime
) -> Issued | bytes | None:
    """Redeem the code and insert its token, in one transaction. Return None for an invalid code.

    A code that is used again revokes its token (RFC 6749, 4.1.2), because one of the two requests came from an
    attacker. Then the hash of the revoked token is returned.
    """
    code_hash = hash_of(wanted.code)
    grant = await oauth.find_grant(db, code_hash, now)
    if grant is None:
        return await oauth.revoke_by_code(db, code_hash, application_id, now)
    if not _verifies(grant.code_challenge, wanted.code_verifier):
        return None
    if await oauth.redeem(db, grant.code_hash, application_id, wanted.redirect_uri, now) is None:
        return None
    secret = access_token(random, grant.account_id)
    new = NewToken(token_id, hash_of(secret), application_id, grant.account_id, grant.scopes)
    token = await oauth.insert_token(db, new, now)
    await oauth.link_grant(db, code_hash, token.id)
    return Issued(secret, token)


def _verifies(challenge: str | None, verifier: str) -> bool:
    """Check RFC 7636, method S256. A verifier without a challenge fails: an attacker may have removed the challenge."""
    if challenge is None:
        return not verifier
    digest = hashlib.sha256(verifier.encode()).digest()
    return equal_secrets(base64.urlsafe_b64encode(digest).rstrip(b"="), challenge)


async def _by_secret(context: HttpContext, application: Application, wanted: TokenRequest) -> Issued:
    secret = access_token(context.secret(), None)
    new = _new_token(context, application, None, wanted.scope, secret)
    return Issued(secret, await context.database.transact(oauth.insert_token, new, context.clock.now()))


async def _by_password(
    context: HttpContext, request: Request, application: Application, wanted: TokenRequest
) -> Issued:
    for name in ("username", "password"):
        if not getattr(wanted, name):
            raise OAuthError("invalid_request", f"Missing required parameter: {name}.")
    user = await user_with(context, request, wanted.username.strip(), wanted.password)
    if user is None or barred(user) is not None:
        raise OAuthError("invalid_grant")
    if await context.database.read(two_factor.is_enabled, user.account_id):
        raise OAuthError("invalid_grant", TWO_FACTOR)
    secret = access_token(context.secret(), user.account_id)
    new = _new_token(context, application, user.account_id, wanted.scope, secret)
    token = await context.database.transact(
        oauth.insert_token_by_password, new, user.password_hash or "", context.clock.now()
    )
    if token is None:
        raise OAuthError("invalid_grant")
    return Issued(secret, token)


def _new_token(
    context: HttpContext, application: Application, owner: int | None, scope: Sequence[str], secret: str
) -> NewToken:
    asked = scopes.parse(" ".join(scope)) or scopes.DEFAULT
    if not scopes.covers_all(application.scopes, asked):
        raise OAuthError("invalid_scope")
    return NewToken(context.ids.next(), hash_of(secret), application.id, owner, asked)
