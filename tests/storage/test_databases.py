"""A database that a test gives back is as a new one for the next test."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import asyncpg
import pytest

from troupe.storage.engine.connect import connect, run

from ..databases import END_OTHERS, ROWS, SEQUENCES, TABLES, TEMPLATE, Databases
from ..kept_connections import Loan
from .conftest import Stage

CHANGES = {
    "a table": "CREATE TABLE more (id int)",
    "a column": "ALTER TABLE accounts ADD COLUMN more int",
    "a name": "ALTER TABLE accounts RENAME COLUMN display_name TO more",
    "a trigger": """
        CREATE TRIGGER t BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()
    """,
    "statistics": "INSERT INTO tags (id, name, display_name, created_at) VALUES (1, 'a', 'a', now()); ANALYZE tags",
    "a setting": "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$",
}

SESSION = """
    SELECT current_setting('timezone'), current_setting('jit'), (SELECT count(*) FROM pg_listening_channels()),
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
"""


def contents(dsn: str) -> dict[str, object]:
    """Every row and the state of every sequence."""

    async def main() -> dict[str, object]:
        db = await connect(dsn, application_name="test")
        rows = {name: await db.fetchval(ROWS.format(table=name)) for (name,) in await db.fetch(TABLES)}
        rows["sequences"] = [tuple(row) for row in await db.fetch(SEQUENCES)]
        await db.close()
        return rows

    return run(main)


def test_rows_and_sequences_are_as_the_migrations_left_them(databases: Databases) -> None:
    name = databases.take()
    dsn = databases.named(name)
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        connection = runner.run(connect(dsn, application_name="test"))
        stage = Stage(dsn, runner, connection)
        ada, bob = stage.account("ada"), stage.account("bob")
        stage.follow(ada, bob)
        stage.boost(ada, stage.status(bob))
        assert contents(dsn) != contents(databases.named(TEMPLATE))
        assert databases.give_back(name), "it was dropped, although only rows had changed"
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            stage.value("SELECT 1")  # the connection was ended
    assert contents(dsn) == contents(databases.named(TEMPLATE))


def test_a_test_may_end_all_connections_to_its_database(databases: Databases) -> None:
    """The connection that empties it is one of them."""
    name = databases.take()
    assert databases.give_back(name)
    assert databases.take() == name

    async def main() -> None:
        db = await connect(databases.named(name), application_name="test")
        await db.fetch(END_OTHERS, [])
        await db.close()

    run(main)
    assert databases.give_back(name)


class Borrower:
    """Tests with one database and one connection each, one after the other."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases
        self.name = databases.take()

    def start(self) -> Any:
        """Start a test and return its connection."""
        self.loan = self.databases.loan(self.databases.named(self.name))
        return self.run(self.loan.connect(self.loan.dsn, application_name="test"))

    def end(self, db: Any) -> None:
        self.loan.over = True
        self.close(db)
        assert self.databases.give_back(self.name)
        assert self.databases.take() == self.name

    def close(self, db: Any) -> None:
        async def terminate() -> None:
            db.terminate()

        self.run(terminate())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.databases.runner.run(work)


@pytest.fixture
def borrower(databases: Databases, loan: Loan) -> Iterator[Borrower]:
    borrower = Borrower(databases)
    yield borrower
    databases.give_back(borrower.name)


def test_a_kept_connection_is_as_a_new_one(borrower: Borrower) -> None:
    db = borrower.start()
    process = db.get_server_pid()
    borrower.run(db.execute("SET timezone = 'Asia/Tokyo'; SET jit = on; SELECT pg_advisory_lock(1); LISTEN troupe"))
    borrower.end(db)
    db = borrower.start()
    assert db.get_server_pid() == process
    assert tuple(borrower.run(db.fetchrow(SESSION))) == ("UTC", "off", 0, 0)


@pytest.mark.parametrize("how", ["closed by the test", "left in a transaction", "lost while it was kept"])
def test_a_connection_that_is_of_no_use_any_more_is_not_kept(borrower: Borrower, how: str) -> None:
    db = borrower.start()
    process = db.get_server_pid()
    if how == "closed by the test":
        borrower.close(db)
    if how == "left in a transaction":
        borrower.run(db.execute("BEGIN"))
    borrower.end(db)
    if how == "lost while it was kept":
        borrower.run(ended_by_others(borrower.loan.dsn, process))
    db = borrower.start()
    assert db.get_server_pid() != process
    assert borrower.run(db.fetchval("SELECT 1")) == 1


async def ended_by_others(dsn: str, process: int) -> None:
    db = await connect(dsn, application_name="other")
    await db.execute(f"SELECT pg_terminate_backend({process}, 5000)")
    await db.close()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_database_with_other_than_rows_changed_is_not_used_again(databases: Databases, change: str) -> None:
    name = databases.take()

    async def main() -> None:
        db = await connect(databases.named(name), application_name="test")
        await db.execute(change)
        await db.close()

    run(main)
    assert not databases.give_back(name)
