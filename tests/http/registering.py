"""Signing up, in tests: a right form, and what comes of it."""

import re
from typing import Any

from troupe.actors.mail.templates import Letter
from troupe.storage import oauth
from troupe.storage.oauth import Application, NewToken
from troupe.storage.secrets import hash_of

from ..clients import Client, Reply, Stage

ACCOUNTS = "/api/v1/accounts"
OPEN = {"rate_limits": False, "registrations": "open", "smtp_host": "localhost"}
LINK = re.compile(r"http://localhost:3000(/auth/confirmation\?confirmation_token=[\w-]{43})\n")


def form(name: str = "eve", **more: Any) -> dict[str, Any]:
    facts = {"username": name, "email": f"{name}@example.org", "password": "long enough"}
    return facts | {"agreement": "true", "locale": "en"} | more


async def app_client(stage: Stage, application: Application | None = None) -> Client:
    """A client with an app's own token."""
    app = application or await stage.application()
    new = NewToken(stage.http_context.ids.next(), hash_of(secret := f"app {app.id}"), app.id, None, app.scopes)
    await stage.http_context.database.transact(oauth.insert_token, new, stage.http_context.clock.now())
    return stage.anybody(secret)


async def registered(stage: Stage, name: str = "eve", app: Client | None = None, **more: Any) -> Client:
    """A client with the token of a user who has just signed up."""
    answer = await (app or await app_client(stage)).done("POST", ACCOUNTS, form(name, **more))
    return stage.anybody(answer["access_token"])


def link_in(letter: Letter) -> str:
    """The link of a mail, as its receiver reads it."""
    found = LINK.search(letter.body)
    assert found is not None, letter.body
    return found[1]


async def newest_link(stage: Stage, count: int = 1) -> str:
    return link_in((await stage.letterbox.receive(count))[-1])


def codes(answer: Reply) -> dict[str, list[str]]:
    """What is wrong with each attribute."""
    assert answer.status == 422, answer.text
    return {name: [one["error"] for one in found] for name, found in answer.json["details"].items()}
