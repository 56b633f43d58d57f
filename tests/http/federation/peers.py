"""Actors of other servers, who sign their requests with a key that this server knows already."""

from typing import Any

from troupe.actors.activitypub.keys import public_pem
from troupe.actors.activitypub.signatures import SigningKey, sign
from troupe.storage import follows
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.follows import FollowTerms

from ...clients import BASE, Person, Reply, Stage
from ...rows import create_account
from ...signing import private_key

DOCUMENT = "application/activity+json"
KEY = """
    INSERT INTO actor_keys (key_id, actor_uri, public_key, fetched_at) VALUES ($1, $2, $3, now())
    ON CONFLICT DO NOTHING
"""
BLOCK = "INSERT INTO blocks (id, account_id, target_account_id, created_at) VALUES ($1, $2, $3, now())"
BLOCK_DOMAIN = "INSERT INTO account_domain_blocks (id, account_id, domain, created_at) VALUES ($1, $2, $3, now())"


class Peer:
    """An actor, whom this server may know as an account."""

    def __init__(self, stage: Stage, uri: str, account: Account | None) -> None:
        self.stage = stage
        self.uri = uri
        self._account = account

    @property
    def account(self) -> Account:
        assert self._account is not None
        return self._account

    async def get(self, path: str, **headers: str) -> Reply:
        """Ask with a signature."""
        return await self.stage.anybody().get(path, headers=self.signed(path) | {"Accept": DOCUMENT} | headers)

    def signed(self, path: str) -> dict[str, str]:
        now = self.stage.http_context.clock.now()
        return sign(SigningKey(f"{self.uri}#main-key", private_key()), "GET", f"{BASE}{path}", None, now)

    async def follow(self, person: Person) -> None:
        """Follow, as far as rows go. The account's actor must not be awake."""
        context, id = self.stage.http_context, self.stage.http_context.ids.next()
        terms = FollowTerms(id, self.account.id, person.account.id, uri=f"{self.uri}#follows/{id}")
        await context.database.transact(follows.insert_follow, terms, context.clock.now())

    async def be_blocked_by(self, person: Person) -> None:
        await self.stage.sql(BLOCK, self.stage.http_context.ids.next(), person.account.id, self.account.id)


async def peer(stage: Stage, name: str = "una", domain: str = "peer.example", *, known: bool = True) -> Peer:
    uri = f"https://{domain}/users/{name}"
    await stage.sql(KEY, f"{uri}#main-key", uri, public_pem(private_key()))
    context, account = stage.http_context, None
    if known:
        new = NewAccount(context.ids.next(), name, domain, uri, f"https://{domain}/@{name}", f"{uri}/inbox")
        account = await context.database.transact(create_account, new, context.clock.now())
    return Peer(stage, uri, account)


async def ask(stage: Stage, path: str) -> Reply:
    """Ask for a document without a signature."""
    return await stage.anybody().get(path.removeprefix(BASE), headers={"Accept": DOCUMENT})


async def document(stage: Stage, path: str) -> Any:
    """The document at a path, as everybody gets it."""
    reply = await ask(stage, path)
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "application/activity+json; charset=utf-8"
    return reply.json
