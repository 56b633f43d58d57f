"""`troupe federation`: what is printed of other servers, and what happens to what waits for them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import troupe

FILL = """
    INSERT INTO activities (id, account_id, body, deliveries, created_at) VALUES (1, NULL, '{}', 3, now()),
        (2, NULL, '{}', 1, now());
    INSERT INTO outbox (id, queue, kind, partition_key, group_key, payload, due_at, created_at)
    SELECT id, 'deliveries', 'delivery', 'delivery/0/' || id, group_key,
        jsonb_build_object('activity_id', activity, 'inbox', 'https://x/inbox', 'domain', 'x'),
        now() + interval '1 hour', now()
    FROM (VALUES (11, 1, 'a.example'), (12, 1, 'a.example followers'), (13, 2, 'a.example'), (14, 1, 'b.example'))
        AS new (id, activity, group_key);
    INSERT INTO hosts (host, failures, failing_since, closed_until, error, created_at)
    VALUES ('a.example', 7, '2026-01-01', '2099-01-01', 'no answer in time', '2026-01-01')
"""


@pytest.fixture
def data(folder: tuple[Path, str]) -> Path:
    transact_once(folder[1], fill)
    return folder[0]


async def fill(db: Connection) -> None:
    await db.execute("DELETE FROM outbox")
    await db.execute("DELETE FROM activities")
    await db.execute("DELETE FROM hosts")
    await db.execute(FILL)


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["federation", words[0], "--data", str(data), *words[1:]])


def test_servers_are_listed_by_what_waits_for_them(data: Path) -> None:
    assert run(data, "hosts").stdout == "a.example\t3\t7\tno answer in time\nb.example\t1\t0\t\n"
    found = json.loads(run(data, "hosts", "--json").stdout)
    assert [(one["host"], one["waiting"], one["failures"]) for one in found] == [
        ("a.example", 3, 7),
        ("b.example", 1, 0),
    ]


def test_a_server_is_shown_with_its_state(data: Path) -> None:
    lines = run(data, "show", "A.example").stdout.splitlines()
    assert {"host: a.example", "failures: 7", "error: no answer in time", "waiting: 3", "heard_at: -"} <= set(lines)
    assert json.loads(run(data, "show", "a.example", "--json").stdout)["closed_until"].startswith("2099")
    unknown = run(data, "show", "c.example")
    assert unknown.exit_code == 1
    assert "Nothing is known of c.example" in unknown.output


def test_what_waits_is_tried_now(folder: tuple[Path, str], data: Path) -> None:
    assert run(data, "retry", "a.example").stdout == "Trying now: 3 deliveries to a.example\n"
    due, failures = transact_once(folder[1], state)
    assert (due, failures) == (3, 0)


async def state(db: Connection) -> tuple[int, int]:
    due = await db.fetchval("SELECT count(*) FROM outbox WHERE due_at <= now()")
    return due, await db.fetchval("SELECT failures FROM hosts WHERE host = 'a.example'")


def test_what_waits_is_dropped_with_activities_that_go_nowhere_else(folder: tuple[Path, str], data: Path) -> None:
    assert run(data, "drop", "a.example", "--dry-run").stdout == "Would drop 3 deliveries to a.example\n"
    assert run(data, "drop", "a.example", "--yes").stdout == "Dropped 3 deliveries to a.example\n"
    assert transact_once(folder[1], left) == ([14], [(1, 1)])


async def left(db: Connection) -> tuple[list[int], list[tuple[int, int]]]:
    rows = await db.fetch("SELECT id FROM outbox")
    activities = await db.fetch("SELECT id, deliveries FROM activities")
    return [row["id"] for row in rows], [(row["id"], row["deliveries"]) for row in activities]
