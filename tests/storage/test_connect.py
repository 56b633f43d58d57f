"""What a connection asks PostgreSQL for, other than its statements."""

from collections.abc import Sequence
from typing import Any

from troupe.storage.engine.connect import connect, run

TIMES = "SELECT $1::timestamptz[]"
SIZES = "CREATE TYPE size AS ENUM ('small', 'large')"
READ_SIZES = "SELECT $1::size[]"


async def asked(dsn: str, query: str, values: Sequence[object]) -> list[str]:
    """Return the statements that PostgreSQL gets for this one on a new connection."""
    statements: list[str] = []

    def log(record: Any) -> None:
        statements.append(record.query)

    connection = await connect(dsn, application_name="test")
    with connection.query_logger(log):
        assert await connection.fetchval(query, values) == values
    await connection.close()
    return statements


def test_postgresql_is_asked_once_about_its_own_types(dsn: str) -> None:
    run(lambda: asked(dsn, TIMES, []))
    assert run(lambda: asked(dsn, TIMES, [])) == [TIMES]


def test_types_that_a_migration_makes_are_read_by_each_connection(dsn: str) -> None:
    """Their numbers are others in each database."""

    async def make() -> None:
        connection = await connect(dsn, application_name="test")
        await connection.execute(SIZES)
        await connection.close()

    run(make)
    statements = [run(lambda: asked(dsn, READ_SIZES, ["small"])) for _ in range(2)]
    assert statements[0] == statements[1] != [READ_SIZES]
