"""A database that a test gives back is as a new one for the next test."""

import asyncio

import asyncpg
import pytest

from troupe.storage.engine.connect import connect, run

from ..databases import END_OTHERS, ROWS, SEQUENCES, TABLES, TEMPLATE, Databases
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


def contents(dsn: str) -> dict[str, object]:
    """Every row and the state of every sequence."""

    async def main() -> dict[str, object]:
        db = await connect(dsn, application_name="test")
        rows = {name: await db.fetchval(ROWS.format(table=name)) for (name,) in await db.fetch(TABLES)}
        rows["sequences"] = list(map(tuple, await db.fetch(SEQUENCES)))
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
        await db.execute(END_OTHERS)
        await db.close()

    run(main)
    assert databases.give_back(name)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_database_with_other_than_rows_changed_is_not_used_again(databases: Databases, change: str) -> None:
    name = databases.take()

    async def main() -> None:
        db = await connect(databases.named(name), application_name="test")
        await db.execute(change)
        await db.close()

    run(main)
    assert not databases.give_back(name)
