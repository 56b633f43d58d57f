"""`troupe accounts cull`: only accounts whose servers answer 410 are deleted, and silent servers are asked once."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
import trio
from click.testing import CliRunner, Result

from troupe.supervision.commands import gone_accounts, troupe

from ..supervision.foreign import Rows
from .peer import ForeignServer

NAMES = ("gone", "gone_too", "here", "missing", "followed", "blocked")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str, peer: ForeignServer) -> Any:
    """Run the command beside the foreign server, in a thread."""
    places = ",".join(f"{name}=127.0.0.1:{peer.peer.port}" for name in ("peer.test", "other.test"))
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setenv("TROUPE_TEST_HOSTS", places)
    monkeypatch.setenv("TROUPE_DOMAIN", "home.test")
    monkeypatch.setattr(gone_accounts, "AT_ONCE", 2)

    async def invoke(*words: str) -> Result:
        call = partial(CliRunner().invoke, troupe, ["accounts", "cull", *words])
        return await trio.to_thread.run_sync(call)

    return invoke


@pytest.fixture
async def rows(dsn: str, peer: ForeignServer) -> Rows:
    """Accounts of two servers. Here are bob, who follows one and blocks another, and a deleted account."""
    return await trio.to_thread.run_sync(fill, Rows(dsn), peer)


def fill(made: Rows, peer: ForeignServer) -> Rows:
    made.account(1, "bob", None)
    for id, name in enumerate(NAMES, 10):
        made.account(id, name, peer.domain)
        uri = peer.url(f"/users/{name}")
        made.run("UPDATE accounts SET uri = $2 WHERE id = $1", id, uri)
        peer.fail(uri, 410)
    peer.person("here")
    peer.fail(peer.url("/users/missing"), 404)
    made.follow(31, 1, 14)
    made.run("INSERT INTO blocks (id, account_id, target_account_id, created_at) VALUES (32, 1, 15, now())")
    for id, name in ((20, "first"), (21, "second"), (22, "third")):
        made.account(id, name, peer.domain_of("other.test"))
        uri = peer.url(f"/users/{name}", "other.test")
        made.run("UPDATE accounts SET uri = $2 WHERE id = $1", id, uri)
        peer.fail(uri, 503)
    return made


def deleted(rows: Rows) -> list[str]:
    return [name for (name,) in rows.run("SELECT username FROM accounts WHERE deleted_at IS NOT NULL ORDER BY id")]


async def test_only_those_are_deleted_whose_servers_say_that_they_are_gone(
    rows: Rows, run: Any, peer: ForeignServer
) -> None:
    done = await run("--yes", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["gone"] == [f"gone@{peer.domain}", f"gone_too@{peer.domain}"]
    assert (found["asked"], found["silent"]) == (5, [peer.domain_of("other.test")])
    assert await trio.to_thread.run_sync(deleted, rows) == ["gone", "gone_too"]
    logged = await trio.to_thread.run_sync(rows.run, "SELECT action, target FROM audit_log ORDER BY id")
    assert [action for action, _ in logged] == ["delete", "delete"]
    assert not peer.asked(peer.url("/users/second", "other.test")), "a server that does not answer is asked once"


async def test_all_are_those_with_relations_too(rows: Rows, run: Any, peer: ForeignServer) -> None:
    done = await run("--yes", "--all", "--by-domain", peer.domain)
    assert done.stdout.splitlines()[-1] == "Asked for 6 accounts; gone: 4."
    assert await trio.to_thread.run_sync(deleted, rows) == ["gone", "gone_too", "followed", "blocked"]


async def test_a_rehearsal_asks_and_deletes_nothing(rows: Rows, run: Any, peer: ForeignServer) -> None:
    done = await run("--dry-run", "--limit", "1")
    assert done.stdout == f"Would delete @gone@{peer.domain}\nAsked for 1 account; gone: 1.\n"
    assert "go on with --after 10" in done.stderr
    assert await trio.to_thread.run_sync(deleted, rows) == []
    rest = await run("--dry-run", "--limit", "1", "--after", "10")
    assert rest.stdout.startswith(f"Would delete @gone_too@{peer.domain}\n")
