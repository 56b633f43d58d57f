"""Applications: an app registers itself, and reads its own registration."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from ...actors.rules import scopes
from ...actors.rules.limits import APPLICATION_NAME_CHARACTERS
from ...storage import oauth
from ...storage.oauth import Application, Token
from ...storage.secrets import hash_of
from ..access import rates
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, json
from ..answers.errors import invalid
from ..entities.application import application_fields, credential_application_fields
from ..intake.parameters import Input, Line, MaybeLine, Several, Text, Texts
from ..oauth.redirects import complaint
from ..router import api

LONGEST_TEXT = 2000
MOST_REDIRECTS = 64


class NewApplication(Input):
    client_name: Line = ""
    redirect_uris: Annotated[list[Text], Several] = []  # noqa: RUF012 - pydantic copies the default
    scopes: Texts = ()
    scope: Texts = ()  # some libraries send it in place of `scopes`, as to other endpoints of OAuth
    website: MaybeLine = None

    def redirects(self) -> list[str]:
        """Return the redirect URIs, which clients send as a list or in a text."""
        return list(dict.fromkeys(uri for text in self.redirect_uris for uri in text.split()))


@api.post("/api/v1/apps", rates=(rates.APPS,), returns="CredentialApplication")
async def register(context: HttpContext, new: NewApplication) -> Answer:
    """A new application with its secret."""
    redirects, wanted = new.redirects(), scopes.parse(" ".join(new.scopes or new.scope)) or scopes.DEFAULT
    if complaints := list(_complaints(new, redirects, wanted)):
        raise invalid(*complaints)
    secret = context.secret()
    application = Application(
        id=context.ids.next(),
        client_id=context.secret(),
        secret_hash=hash_of(secret),
        name=new.client_name,
        website=new.website or None,
        redirect_uris=tuple(redirects),
        scopes=wanted,
        created_at=context.clock.now(),
    )
    await context.database.transact(oauth.insert_application, application)
    return json(credential_application_fields(application, secret, context.push_key.public))


@api.get("/api/v1/apps/verify_credentials", auth="app", returns="Application")
async def show_own(context: HttpContext, token: Token) -> Answer:
    """The application that the token belongs to."""
    application = await find_row(context, oauth.find_application, token.application_id)
    return json(application_fields(application, context.push_key.public))


def _complaints(new: NewApplication, redirects: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return the errors of a registration, in the API's words."""
    found: list[str] = []
    if not new.client_name:
        found.append("Name can't be blank")
    if len(new.client_name) > APPLICATION_NAME_CHARACTERS:
        found.append(f"Name is too long (maximum is {APPLICATION_NAME_CHARACTERS} characters)")
    if not redirects:
        found.append("Redirect URI can't be blank")
    if len(redirects) > MOST_REDIRECTS or sum(map(len, redirects)) > LONGEST_TEXT:
        found.append(f"Redirect URI is too long (maximum is {LONGEST_TEXT} characters)")
    found += dict.fromkeys(f"Redirect URI {why}" for uri in redirects if (why := complaint(uri)))
    if not scopes.known(wanted):
        found.append("Scopes doesn't match configured on the server.")
    if new.website and not _is_website(new.website):
        found.append("Website is not a valid URL")
    return found


def _is_website(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(text) <= LONGEST_TEXT and " " not in text
