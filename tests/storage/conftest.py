"""A real PostgreSQL for the storage tests: one server a run, one database a test, made from a migrated template."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pytest
from troupe.storage import accounts, follows, migrate, statuses, users
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.connect import connect, run
from troupe.storage.embedded import Embedded, embedded
from troupe.storage.engine import Connection
from troupe.storage.follows import Follow
from troupe.storage.statuses import NewStatus, Status
from troupe.storage.users import NewUser

P = ParamSpec("P")
T = TypeVar("T")

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with embedded(tmp_path_factory.mktemp("pg"), durable=False) as running:
        yield running


@pytest.fixture(scope="session")
def template(server: Embedded) -> str:
    """The name of a database with the schema and nothing else."""
    administer(server.dsn, "CREATE DATABASE template_troupe")
    migrate.upgrade(database(server, "template_troupe"))
    return "template_troupe"


@pytest.fixture()
def dsn(server: Embedded, template: str) -> Iterator[str]:
    """A database of the test's own."""
    name = f"test_{next(_numbers)}"
    administer(server.dsn, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield database(server, name)
    administer(server.dsn, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture()
def stage(dsn: str) -> Iterator["Stage"]:
    """The test's database with the means to fill it, on one connection."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        connection = runner.run(connect(dsn, application_name="test"))
        try:
            yield Stage(dsn, runner, cast(Connection, connection))
        finally:
            runner.run(connection.close())


class Stage:
    """Runs storage functions one after the other, each statement committed at once, and makes people and statuses."""

    def __init__(self, dsn: str, runner: asyncio.Runner, db: Connection) -> None:
        self.dsn = dsn
        self.runner = runner
        self.db = db
        self.now = NOW

    def __call__(
        self, work: Callable[Concatenate[Connection, P], Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self.runner.run(work(self.db, *args, **kwargs))

    def sql(self, query: str, *args: object) -> list[Any]:
        return self.runner.run(cast(Any, self.db).fetch(query, *args))

    def value(self, query: str, *args: object) -> Any:
        return self.sql(query, *args)[0][0]

    def later(self, seconds: float) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now

    def account(self, name: str, *, role: str = "user", domain: str | None = None) -> Account:
        host = domain or "troupe.test"
        uri = f"https://{host}/users/{name}"
        new = NewAccount(new_id(), name, domain, uri, f"https://{host}/@{name}", inbox_url=f"{uri}/inbox")
        if domain is not None:
            return self(accounts.create_remote, new, self.now)
        account = self(accounts.create_local, new, self.now)
        user = NewUser(account.id, f"{name}@troupe.test", "hash", role, confirmed_at=self.now, approved_at=self.now)
        self(users.create_user, user, self.now)
        return account

    def status(self, author: Account, text: str = "hello", **more: Any) -> Status:
        id = new_id()
        more = {"visibility": "public", "content": f"<p>{text}</p>", "local": author.local} | more
        new = NewStatus(id, author.id, f"{author.uri}/statuses/{id}", f"{author.url}/{id}", text=text, **more)
        return self(statuses.insert, new, self.now)

    def reply(self, author: Account, parent: Status, **more: Any) -> Status:
        answered = {"in_reply_to_id": parent.id, "in_reply_to_account_id": parent.account_id}
        return self.status(author, "answer", **(answered | more))

    def boost(self, author: Account, original: Status) -> Status:
        return self.status(author, "", content="", reblog_of_id=original.id)

    def follow(self, follower: Account, followed: Account, **terms: Any) -> Follow:
        follow = Follow(new_id(), follower.id, followed.id, **terms)
        assert self(follows.insert_follow, follow, self.now)
        return follow

    def counts(self, account: Account) -> tuple[int, int, int]:
        found = self(accounts.find, account.id)
        assert found is not None
        return found.statuses_count, found.followers_count, found.following_count


def new_id() -> int:
    return next(_ids)


def administer(dsn: str, statement: str) -> None:
    async def main() -> None:
        async with session(dsn) as db:
            await db.execute(statement)

    run(main)


@asynccontextmanager
async def session(dsn: str) -> AsyncIterator[Connection]:
    """One more connection, on the asyncio side."""
    connection = await connect(dsn, application_name="test")
    try:
        yield cast(Connection, connection)
    finally:
        await connection.close()


@asynccontextmanager
async def transaction(db: Connection) -> AsyncIterator[None]:
    await db.execute("BEGIN")
    yield
    await db.execute("COMMIT")


def on_asyncio(main: Callable[[], Awaitable[T]]) -> T:
    return run(main)


def database(server: Embedded, name: str) -> str:
    return server.dsn.replace("/postgres?", f"/{name}?")


def sockets_of(server: Embedded) -> Path:
    return Path(server.dsn.split("host=", 1)[1])


_numbers = count(1)
_ids = count(1 << 40)
