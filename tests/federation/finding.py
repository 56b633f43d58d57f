"""Searching for what other servers have, and what was stored of it."""

from __future__ import annotations

from typing import Any

from ..clients import Person, Stage
from ..waiting import until_none
from .peer import ForeignServer

ACCOUNTS = "SELECT uri FROM accounts WHERE domain IS NOT NULL ORDER BY uri"


async def search(person: Person, query: str, **more: Any) -> list[Any]:
    found = await person.done("GET", "/api/v2/search", query_string={"q": query, "resolve": "true", **more})
    return found["accounts"]


async def followed(person: Person, peer: ForeignServer, username: str = "eve") -> str:
    """Have a person follow an account of the foreign server. Return the account's id."""
    found = await person.get("/api/v2/search", query_string={"q": f"@{username}@{peer.domain}", "resolve": "true"})
    (account,) = found.json["accounts"]
    assert (await person.post(f"/api/v1/accounts/{account['id']}/follow")).status == 200
    return account["id"]


async def until_done(stage: Stage) -> None:
    """Wait until nothing is to be fetched any more, without a failure of this server."""

    async def to_fetch() -> object:
        return stage.http_context.federation.resolver.inspect()["to fetch"]

    await until_none(to_fetch)
    assert stage.told("fetch.failed") == []
