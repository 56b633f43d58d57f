"""An operator finds a wedged actor and releases it, repairs a poisoned message, and follows a request."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from troupe.storage.engine.connect import transact_once

from .. import plain_http
from ..mail.mailserver import MailServer
from .locking import statuses_locked
from .patience import PATIENCE, eventually
from .poisoning import BREAK, REPAIR, database, forget_password, run
from .server import Server
from .signing_up import signing_up

# A bug that an operator may meet: the first question about an account never ends, and nothing else runs meanwhile.
BUSY = """
from troupe.actors.account import AccountActor, CredentialsOf

whole, wedged = AccountActor.turns[CredentialsOf], []

def turns_for_ever(account, message):
    if not wedged:
        wedged.append(account)
        while True:
            pass
    return whole(account, message)

AccountActor.turns[CredentialsOf] = turns_for_ever
from troupe.supervision.commands import main
main()
"""


def answer(server: Server, *words: str) -> Any:
    """What a command says in JSON."""
    done = server.troupe(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ready(shown: Any) -> Any:
    """An actor, if it waits for messages only."""
    return shown if shown["summary"]["phase"] == "ready" else None


def test_an_actor_that_waits_for_a_lock_is_found_with_its_stack_and_released(server: Server) -> None:
    (ada,) = server.people("ada")
    with ThreadPoolExecutor(1) as threads, statuses_locked(server):
        posted = threads.submit(
            plain_http.post, f"{ada.url}/api/v1/statuses", data={"status": "tea"}, headers=ada.headers, timeout=PATIENCE
        )

        def wedged() -> Any:
            actors = answer(server, "top", "--sort", "turn", "--kind", "account", "--turn", "0.2")["actors"]
            return [one for one in actors if one["address"] == f"account/{ada.id}"]

        (found,) = eventually(wedged)
        assert (found["message"], found["phase"]) == ("PublishStatus", "waiting")
        snapshot = answer(server, "actor", "show", found["address"])
        assert "in publish" in snapshot["turn"]["stack"]
        assert "statuses.py" in snapshot["turn"]["stack"]
        assert snapshot["turn"]["waits_for"] == "PostgreSQL, or a connection to it"
        assert snapshot["turn"]["seconds"] > 0.2
        assert "turn         PublishStatus#" in server.troupe("actor", "show", found["address"]).stdout
        released = server.troupe("actor", "release", found["address"])
        assert (released.returncode, released.stdout) == (
            0, f"The turn of {found['address']} was cancelled; the actor restarts from its rows.\n",
        )  # fmt: skip
        assert posted.result(PATIENCE).status_code == 503
        assert plain_http.get(f"{ada.url}/api/v1/preferences", headers=ada.headers, timeout=PATIENCE).status_code == 200
        # It may read its rows twice: again when the statement of the cancelled turn has ended.
        again = eventually(lambda: ready(answer(server, "actor", "show", found["address"])))
        assert [crash["error"] for crash in again["crashes"]] == ["Released"]
    assert answer(server, "audit")[0]["action"] == "release_actor"


def test_an_actor_that_keeps_the_server_busy_is_found_with_its_stack_and_broken_off(own_server: Server) -> None:
    settled = own_server.launch(argument=lambda words: [sys.executable, "-c", BUSY, *words[3:]])
    assert settled.wait(PATIENCE)
    (ada,) = own_server.people("ada")
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(
            plain_http.get, f"{ada.url}/api/v1/accounts/verify_credentials", headers=ada.headers, timeout=PATIENCE
        )

        def busy() -> Any:
            actors = answer(own_server, "top", "--sort", "turn", "--turn", "0.5")["actors"]
            return [one for one in actors if one["message"] == "CredentialsOf"]

        (found,) = eventually(busy)
        snapshot = answer(own_server, "actor", "show", found["address"])
        assert snapshot["turn"]["busy"]
        assert "in turns_for_ever" in snapshot["turn"]["stack"]
        other = own_server.troupe("streams")
        assert (other.returncode, "a turn keeps the server busy" in other.stderr) == (1, True)
        released = own_server.troupe("actor", "release", found["address"])
        assert "was broken off" in released.stdout, released.stderr
        asked.result(PATIENCE)
    assert (
        plain_http.get(
            f"{ada.url}/api/v1/accounts/verify_credentials", headers=ada.headers, timeout=PATIENCE
        ).status_code
        == 200
    )
    assert [crash["error"] for crash in answer(own_server, "actor", "show", found["address"])["crashes"]] == [
        "Released"
    ]
    assert own_server.stop() == 0


@pytest.fixture(scope="module")
def mailing(post: MailServer, prepared: Path) -> Generator[Server]:
    """A server that sends mails."""
    with signing_up(post, prepared) as one:
        yield one


def test_a_poisoned_message_is_found_shown_masked_and_replayed_after_the_fix(mailing: Server, post: MailServer) -> None:
    (ada,) = mailing.people("ada")
    dsn = database(mailing)
    transact_once(dsn, run, BREAK)
    forget_password(mailing, ada, "poisoned-1")
    (letter,) = eventually(lambda: answer(mailing, "dead-letters", "list"))
    assert (letter["address"], letter["message"]) == (f"account/{ada.id}", "SendPasswordReset")
    assert letter["error"] == "RaiseError: no mails for [address]"
    assert letter["request_id"] == "poisoned-1"
    shown = mailing.troupe("dead-letters", "show", letter["id"])
    assert "ada@example.org" not in shown.stdout
    assert "ada@example.org" in mailing.troupe("dead-letters", "show", letter["id"], "--text").stdout

    refused = mailing.troupe("dead-letters", "replay", letter["id"])
    assert (refused.returncode, "it crashed again" in refused.stderr) == (1, True)
    assert len(answer(mailing, "dead-letters", "list")) == 1

    transact_once(dsn, run, REPAIR)
    replayed = mailing.troupe("dead-letters", "replay", letter["id"])
    assert (replayed.returncode, replayed.stdout) == (0, f"account/{ada.id} has handled SendPasswordReset\n")
    assert answer(mailing, "dead-letters", "list") == []
    assert post.receive(f"{ada.name}@example.org").body
    assert answer(mailing, "audit")[0]["action"] == "replay_dead_letter"


def test_a_request_is_followed_to_the_mail_that_it_led_to(mailing: Server, post: MailServer) -> None:
    (bob,) = mailing.people("bob")
    forget_password(mailing, bob, "followed-1")
    assert post.receive(f"{bob.name}@example.org").body

    def steps() -> Any:
        (request,) = answer(mailing, "request", "followed-1")["steps"]
        (turn,) = [step for step in request["steps"] if step["what"] == "turn"]
        return (request, turn) if len(turn["steps"]) == 2 else None

    request, turn = eventually(steps)
    assert (request["name"], request["where"]) == ("/auth/password/new", "POST")
    assert (turn["name"], turn["where"]) == ("SendPasswordReset", f"account/{bob.id}")
    assert [(step["what"], step["name"]) for step in turn["steps"]] == [
        ("transaction", "_promise_reset"), ("effect", "mail"),
    ]  # fmt: skip
    assert request["seconds"] > 0
    lines = mailing.troupe("request", "followed-1").stdout.splitlines()
    assert [line.split()[4] for line in lines[1:]] == ["request", "turn", "transaction", "effect"]
    unknown = mailing.troupe("request", "unknown")
    assert unknown.returncode == 1
    assert "not among the last steps" in unknown.stderr
