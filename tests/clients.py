"""A server without sockets, the people who use it, and what clients do with its answers."""

import re
import secrets
from functools import cached_property
from typing import Any, cast

import trio
from argon2 import PasswordHasher
from quart.testing import make_test_body_with_headers  # pyright: ignore[reportUnknownVariableType]  # takes open dicts
from quart.typing import TestClientProtocol
from quart_trio import QuartTrio

from troupe.actors.mail.templates import Letter
from troupe.actors.outbox.outbox import Outbox
from troupe.actors.rules import passwords
from troupe.http.access.context import HttpContext
from troupe.http.app import FastPath, make_app
from troupe.http.framework import application_of, make_quart
from troupe.http.router import Endpoint
from troupe.http.server.plain import FastRequests
from troupe.storage import oauth
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.engine.database import Connection
from troupe.storage.oauth import Application, NewToken
from troupe.storage.secrets import hash_of
from troupe.storage.users import NewUser

from .http.shapes import check
from .replies import Reply
from .rows import create_account, create_user
from .two_paths import ADDRESS, compared
from .waiting import until_none

PASSWORD = "correct horse battery"
SCOPES = ("read", "write", "follow", "push", "profile")
STAFF = (*SCOPES, "admin:read", "admin:write")
BASE = "http://localhost:3000"
PATIENCE = 20  # seconds, for what comes at once
# Passwords are hashed with the least work, because the product's way takes longer than most tests. `tests/rules` tests
# that way, and the end-to-end tests sign in by it.
CHEAP = PasswordHasher(time_cost=1, memory_cost=passwords.SMALLEST_MEMORY, parallelism=1)
PASSWORD_HASH = CHEAP.hash(PASSWORD)


# The ways in which a test names a body.
BODIES = frozenset({"data", "form", "files", "json"})


def as_bytes(method: str, path: str, headers: dict[str, str], body: bytes) -> bytes:
    """A request as a client sends it."""
    own = {name.lower(): value for name, value in headers.items()}
    length = {"content-length": str(len(body))} if body else {}
    lines = [f"{name}: {value}" for name, value in ({"host": "localhost"} | length | own).items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + body


class Client:
    """Sends requests, with a token when it has one."""

    def __init__(self, stage: "Stage", token: str | None = None) -> None:
        self._stage = stage
        self.token = token

    @cached_property
    def _browser(self) -> TestClientProtocol:
        return self._stage.app.test_client()

    async def send(self, method: str, path: str, headers: dict[str, str] | None = None, **how: Any) -> Reply:
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        reply = await self._reply(method, path, given | (headers or {}), how)
        check(method, path, reply.status, reply.headers.get("Content-Type", ""), reply.body)
        return reply

    async def _reply(self, method: str, path: str, headers: dict[str, str], how: dict[str, Any]) -> Reply:
        """The answer of the fast path if it has one, compared with the ordinary path's; else the application's."""
        if self._stage.fast_path and how.keys() <= BODIES:
            body, more = make_test_body_with_headers(**how)
            headers, how = headers | dict(more), {"data": body}
            data = as_bytes(method, path, headers, body)
            found = self._stage.fast.first(data, ADDRESS)
            if found is not None:
                return await compared(application_of(self._stage.app), data, found[0])
        # `open` takes open dicts.
        response = await self._browser.open(path, method=method, headers=headers, **how)  # pyright: ignore[reportUnknownMemberType]
        return Reply(response.status_code, response.headers, cast(bytes, await response.get_data()))

    async def get(self, path: str, **how: Any) -> Reply:
        return await self.send("GET", path, **how)

    async def post(self, path: str, form: dict[str, Any] | None = None, **how: Any) -> Reply:
        return await self.send("POST", path, **({"form": form} if form is not None else {}), **how)

    async def put(self, path: str, form: dict[str, Any] | None = None, **how: Any) -> Reply:
        return await self.send("PUT", path, **({"form": form} if form is not None else {}), **how)

    async def delete(self, path: str, **how: Any) -> Reply:
        return await self.send("DELETE", path, **how)

    async def done(self, method: str, path: str, form: dict[str, Any] | None = None, **how: Any) -> Any:
        """Send a request that must succeed, and return the JSON of the answer."""
        reply = await self.send(method, path, **({"form": form} if form is not None else {}), **how)
        assert reply.status == 200, reply.text
        return reply.json


class Person(Client):
    """A client with a user's token."""

    def __init__(self, stage: "Stage", account: Account, token: str) -> None:
        super().__init__(stage, token)
        self.account = account
        self.id = str(account.id)

    async def publish(self, text: str = "hello", **more: Any) -> Any:
        return await self.done("POST", "/api/v1/statuses", {"status": text, **more})

    async def write(self, text: str, **more: object) -> Any:
        """Publish a status with JSON in place of a form."""
        return await self.done("POST", "/api/v1/statuses", json={"status": text, **more})

    async def change_profile(self, **profile: object) -> Any:
        return await self.done("PATCH", "/api/v1/accounts/update_credentials", json=profile)


class Letterbox:
    """Where the mails of a server arrive."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self._arrived = trio.Event()

    async def __call__(self, letter: Letter) -> None:
        self.letters.append(letter)
        self._arrived.set()

    async def receive(self, count: int = 1) -> list[Letter]:
        """The letters, as soon as there are so many."""
        with trio.fail_after(PATIENCE):
            while len(self.letters) < count:
                self._arrived = trio.Event()
                await self._arrived.wait()
        return self.letters


class Stage:
    """A server without sockets, and the means to fill it with people."""

    def __init__(
        self, http_context: HttpContext, letterbox: Letterbox, outbox: Outbox,
        records: list[tuple[str, dict[str, object]]], *, fast_path: bool, both_ways: bool,
    ) -> None:  # fmt: skip
        self.fast_path = fast_path
        self.both_ways = both_ways  # True if the test runs with the fast path and without it
        self.fast = FastRequests(FastPath(http_context).answer)
        self.letterbox = letterbox
        self.http_context = http_context
        self.outbox = outbox
        self._records = records

    @cached_property
    def app(self) -> QuartTrio:
        """The application, made when it is needed: the fast path answers most requests of the tests without it."""
        app = make_quart(self.http_context)
        app.asgi_app = cast(Any, make_app(self.http_context, application_of(app)))
        return app

    def told(self, event: str) -> list[dict[str, object]]:
        """The facts of every record of this event."""
        return [facts for word, facts in self._records if word == event]

    @property
    def failures(self) -> list[dict[str, object]]:
        return self.told("request.failed")

    def anybody(self, token: str | None = None) -> Client:
        return Client(self, token)

    async def account(self, name: str, **state: Any) -> Account:
        """A local account with a user who may sign in, unless `state` says otherwise."""
        return await self.http_context.database.transact(self._store_account, name, state)

    async def _store_account(self, db: Connection, name: str, state: dict[str, Any]) -> Account:
        now, id = self.http_context.clock.now(), self.http_context.ids.next()
        base = self.http_context.settings.base_url
        new = NewAccount(id, name, None, f"{base}/users/{name}", f"{base}/@{name}", display_name=name.capitalize())
        account = await create_account(db, new, now)
        state = {"confirmed_at": now, "approved_at": now} | state
        await create_user(db, NewUser(account.id, f"{name}@example.org", PASSWORD_HASH, **state), now)
        return account

    async def application(self, secret: str = "application secret", **more: Any) -> Application:
        return await self.http_context.database.transact(self._store_application, secret, more)

    async def _store_application(self, db: Connection, secret: str, more: dict[str, Any]) -> Application:
        id, now = self.http_context.ids.next(), self.http_context.clock.now()
        facts: dict[str, Any] = {
            "name": "Test app", "website": None, "redirect_uris": ("https://app.example/cb",), "scopes": SCOPES,
        }  # fmt: skip
        application = Application(
            id=id, client_id=f"client-{id}", secret_hash=hash_of(secret), created_at=now, **(facts | more)
        )
        await oauth.insert_application(db, application)
        return application

    async def token(self, account: Account | None, scopes: tuple[str, ...] = SCOPES) -> str:
        return await self.http_context.database.transact(self._store_token, account, scopes)

    async def _store_token(self, db: Connection, account: Account | None, scopes: tuple[str, ...]) -> str:
        secret, application = secrets.token_urlsafe(32), await self._store_application(db, "application secret", {})
        owner = account.id if account else None
        new = NewToken(self.http_context.ids.next(), hash_of(secret), application.id, owner, scopes)
        await oauth.insert_token(db, new, self.http_context.clock.now())
        return secret

    async def person(self, name: str, scopes: tuple[str, ...] = SCOPES, **state: Any) -> Person:
        """A new account and its token. Most tests begin with some: one transaction for each."""

        async def store(db: Connection) -> tuple[Account, str]:
            account = await self._store_account(db, name, state)
            return account, await self._store_token(db, account, scopes)

        return Person(self, *await self.http_context.database.transact(store))

    async def rows(self, query: str, *args: object) -> list[list[Any]]:
        """What the database holds."""
        return [list(row.values()) for row in await self.http_context.database.read(lambda db: db.fetch(query, *args))]

    async def until_gone(self, query: str, *args: object) -> None:
        """Wait until the database holds no such rows."""
        await until_none(lambda: self.rows(query, *args))

    async def sql(self, query: str, *args: object) -> None:
        """Change a row outside of the server, and clear its caches."""
        await self.http_context.database.transact(lambda db: db.execute(query, *args))
        self.http_context.tokens.clear()
        self.http_context.accounts.clear()


HOME = "/api/v1/timelines/home"


def ids(answer: Reply) -> list[str]:
    assert answer.status == 200
    return [status["id"] for status in answer.json]


def link(answer: Reply, relation: str) -> str:
    found = re.search(rf'<http://localhost:3000([^>]*)>; rel="{relation}"', answer.headers["Link"])
    assert found is not None
    return found[1]


def address(endpoint: Endpoint, id: str) -> str:
    """Return the endpoint's path with an id, or another value, filled in."""
    return re.sub(r"<\w+>", id, endpoint.path)
