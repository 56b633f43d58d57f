"""People, statuses and sessions for the storage tests."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import pytest

from troupe.actors.staff.acts import COMMAND_LINE, OwnServer, Staff, StaffAct
from troupe.storage import accounts, follows, sessions, statuses
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.engine.connect import connect
from troupe.storage.engine.database import Connection
from troupe.storage.follows import FollowTerms
from troupe.storage.statuses import NewStatus, Status
from troupe.storage.users import NewUser

from ..databases import Databases
from ..kept_connections import Loan
from ..rows import create_account, create_user

P = ParamSpec("P")
T = TypeVar("T")

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def stage(loan: Loan, databases: Databases) -> Iterator["Stage"]:
    """The test's database with the means to fill it, on one connection."""
    runner = databases.runner
    connection = runner.run(loan.connect(loan.dsn, application_name="test"))
    yield Stage(loan.dsn, runner, cast(Connection, connection))
    loan.over = True
    runner.run(_terminate(connection))


async def _terminate(connection: Any) -> None:
    """End the connection on its loop."""
    connection.terminate()


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
        account = self(create_account, new, self.now)
        if domain is not None:
            return account
        user = NewUser(account.id, f"{name}@troupe.test", "hash", role, confirmed_at=self.now, approved_at=self.now)
        self(create_user, user, self.now)
        return account

    def session(self, account: Account) -> bytes:
        """Sign the account in with a browser, and return the hash of its secret."""
        token_hash = new_id().to_bytes(32, "big")
        assert self(sessions.insert, token_hash, account.id, "Browser", "hash", self.now, self.now + timedelta(days=1))
        return token_hash

    def status(self, author: Account, text: str = "hello", **more: Any) -> Status:
        id = new_id()
        more = {"visibility": "public", "content": f"<p>{text}</p>", "local": author.local} | more
        new = NewStatus(id, author.id, f"{author.uri}/statuses/{id}", f"{author.url}/{id}", text=text, **more)
        return self(statuses.insert, new, self.now).status

    def reply(self, author: Account, parent: Status, **more: Any) -> Status:
        answered = {"in_reply_to_id": parent.id, "in_reply_to_account_id": parent.account_id}
        return self.status(author, "answer", **(answered | more))

    def boost(self, author: Account, original: Status) -> Status:
        return self.status(author, "", content="", reblog_of_id=original.id)

    def follow(self, follower: Account, followed: Account, **terms: Any) -> FollowTerms:
        follow = FollowTerms(new_id(), follower.id, followed.id, **terms)
        assert self(follows.insert_follow, follow, self.now)
        return follow

    def counts(self, account: Account) -> tuple[int, int, int]:
        found = self(accounts.find, account.id)
        assert found is not None
        return found.statuses_count, found.followers_count, found.following_count


def new_id() -> int:
    return next(_ids)


class NewIds:
    """Ids for the rows that acts insert."""

    def next(self) -> int:
        return new_id()


def act_of(db: Connection, staff: Staff = COMMAND_LINE) -> StaffAct:
    """An act of staff in a transaction."""
    return StaffAct(db, staff, cast(Any, NewIds()), NOW, OwnServer("https://troupe.test", limited=True))


@asynccontextmanager
async def session(dsn: str) -> AsyncGenerator[Connection]:
    """One more connection, on the asyncio side."""
    connection = await connect(dsn, application_name="test")
    try:
        yield cast(Connection, connection)
    finally:
        await connection.close()


@asynccontextmanager
async def transaction(db: Connection) -> AsyncGenerator[None]:
    await db.execute("BEGIN")
    yield
    await db.execute("COMMIT")


_ids = count(1 << 40)


def counted(stage: Stage) -> bool:
    """Whether every count equals the rows it counts."""
    wrong = stage.sql(
        """
        SELECT c.status_id FROM status_counts c WHERE
            c.replies <> (SELECT count(*) FROM statuses s WHERE s.in_reply_to_id = c.status_id
                          AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted'))
            OR c.reblogs <> (SELECT count(*) FROM statuses s
                             WHERE s.reblog_of_id = c.status_id AND s.deleted_at IS NULL)
            OR c.quotes <> (SELECT count(*) FROM statuses s WHERE s.quote_of_id = c.status_id
                            AND s.deleted_at IS NULL AND s.quote_state = 'accepted')
            OR c.favourites <> (SELECT count(*) FROM favourites f WHERE f.status_id = c.status_id)
        UNION ALL
        SELECT c.account_id FROM account_counts c WHERE
            c.statuses <> (SELECT count(*) FROM statuses s WHERE s.account_id = c.account_id
                           AND s.deleted_at IS NULL AND s.visibility <> 'direct')
            OR c.followers <> (SELECT count(*) FROM follows f WHERE f.target_account_id = c.account_id)
            OR c.following <> (SELECT count(*) FROM follows f WHERE f.account_id = c.account_id)
        """
    )
    return not wrong
