"""`troupe outbox` and `troupe dead-letters`: what they print and mask, what they change, and what the audit log has."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from troupe.actors import commands
from troupe.actors.account import AccountActor
from troupe.actors.effects.registry import KINDS
from troupe.actors.effects.reminders import MuteEnded
from troupe.actors.facts.access import RevokedToken
from troupe.actors.facts.fact import LearnFact
from troupe.actors.facts.relations import ChangedFollowedTags
from troupe.actors.housekeeping.dead_letters import parked_message
from troupe.actors.housekeeping.masking import masked
from troupe.actors.kernel import Runtime
from troupe.actors.kernel.codec import Unreadable
from troupe.actors.kernel.message import LabelledMessage
from troupe.storage import dead_letters
from troupe.storage.dead_letters import DeadLetter
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.children.parking import contents
from troupe.supervision.commands import outbox, troupe

from ..stand_ins import unrecorded
from .foreign import Rows

__all__ = ["commands"]  # which registers the turns of accounts

Run = Callable[..., Result]

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)

# One effect that failed, one whose time has not come, one that a relay carries out, and one that is due.
FILL = """
    INSERT INTO activities (id, account_id, body, deliveries, created_at) VALUES (1, NULL, '{}', 1, now());
    INSERT INTO outbox
        (id, queue, kind, partition_key, group_key, payload, due_at, created_at, attempts, error, claimed_until,
        claimed_by)
    VALUES
        (11, 'deliveries', 'delivery', 'd/11', 'a.example',
            '{"activity_id": 1, "inbox": "https://a.example/inbox", "domain": "a.example"}',
            now() + interval '1 hour', now(), 3, 'Later: no answer for ada@example.org', NULL, NULL),
        (12, 'announcements', 'poll', 'poll/7', NULL, '{"id": 7}', now() + interval '1 hour', now(), 0, NULL, NULL,
            NULL),
        (13, 'mail', 'mail', 'mail/1', NULL, '{"kind": "confirmation", "account": 1, "id": 1}', now(), now(), 1, 'X',
            now() + interval '1 hour', 5),
        (14, 'push', 'push', 'p/1', NULL, '{"notification": 1, "subscription": 2}', now(), now(), 0, NULL, NULL, NULL);
"""


@pytest.fixture
def rows(made: Rows) -> Rows:
    for statement in FILL.split(";\n"):
        if statement.strip():
            made.run(statement)
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(outbox, "AT_ONCE", 1)
    return lambda *words: CliRunner().invoke(troupe, list(words))


def ids_of(found: Result) -> list[str]:
    return [one["id"] for one in json.loads(found.stdout)]


def audit(rows: Rows) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows.run("SELECT action, target FROM audit_log ORDER BY id")]


# The outbox


def test_effects_are_listed_with_their_state_and_without_data_of_people(rows: Rows, run: Run) -> None:
    found = json.loads(run("outbox", "list", "--json").stdout)
    assert [(one["id"], one["state"]) for one in found] == [
        ("11", "failed"), ("12", "later"), ("13", "carried out"), ("14", "due"),
    ]  # fmt: skip
    assert found[0]["error"] == "Later: no answer for [address]"
    assert found[0]["contents"] == {"activity_id": 1, "inbox": "[23 characters]", "domain": "[9 characters]"}
    (told,) = json.loads(run("outbox", "list", "--json", "--text", "--queue", "deliveries").stdout)
    assert told["error"] == "Later: no answer for ada@example.org"
    assert told["contents"]["inbox"] == "https://a.example/inbox"
    assert run("outbox", "list", "--kind", "push").stdout.startswith("14\tpush\tp/1\tdue\t0\t")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--failed",), ["11", "13"]), (("--queue", "mail"), ["13"]), (("--kind", "poll"), ["12"]),
        (("--limit", "1"), ["11"]),
    ],
)  # fmt: skip
def test_effects_are_chosen(rows: Rows, run: Run, words: tuple[str, ...], found: list[str]) -> None:
    assert ids_of(run("outbox", "list", "--json", *words)) == found


def due(rows: Rows) -> list[int]:
    return [row[0] for row in rows.run("SELECT id FROM outbox WHERE due_at <= now() ORDER BY id")]


def test_what_failed_is_tried_now_and_what_waits_for_its_time_is_not(rows: Rows, run: Run) -> None:
    assert run("outbox", "retry", "--all", "--dry-run").stdout == "Would retry 1 effect\n"
    assert due(rows) == [13, 14]
    assert run("outbox", "retry", "--all").stdout == "Retrying 1 effect\n"
    assert due(rows) == [11, 13, 14]
    assert run("outbox", "retry", "12").stdout == "Retrying 0 effects\n"
    assert audit(rows) == [("retry_effects", "11")]


def test_what_is_dropped_never_happens_and_what_it_leaves_is_removed(rows: Rows, run: Run) -> None:
    """The activity goes with its last delivery, as when the relay gives it up; what is carried out is left."""
    assert run("outbox", "drop", "--all", "--dry-run").stdout == "Would drop 3 effects\n"
    assert len(rows.run("SELECT FROM outbox")) == 4
    rows.run("UPDATE outbox SET claimed_by = 7, claimed_until = now() - interval '1 minute' WHERE id = 11")  # gone
    assert run("outbox", "drop", "11", "13", "--yes").stdout == "Dropped 1 effect\n"
    assert rows.run("SELECT FROM activities") == []
    assert json.loads(run("outbox", "drop", "--all", "--yes", "--json").stdout) == {"dropped": 2, "dry_run": False}
    assert [row[0] for row in rows.run("SELECT id FROM outbox")] == [13]
    assert audit(rows) == [("drop_effects", "11"), ("drop_effects", "12"), ("drop_effects", "14")]


def test_effects_that_their_deletion_leaves_end_the_command(
    rows: Rows, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be found by every further batch."""
    deletions: list[list[int]] = []

    async def delete_nothing(db: Connection, ids: Sequence[int], relay: int) -> None:
        deletions.append(list(ids))
        if len(deletions) > 1:
            raise AssertionError("dropped again")

    monkeypatch.setitem(KINDS, "poll", replace(KINDS["poll"], delete=delete_nothing))
    refused = run("outbox", "drop", "--kind", "poll", "--yes")
    assert refused.stderr == "Error: 1 of 1 effects are still there after their deletion, first 12.\n"
    assert (refused.exit_code, deletions) == (1, [[12]])
    assert audit(rows) == []


@pytest.mark.parametrize("words", [("outbox", "drop", "--yes"), ("outbox", "retry"), ("dead-letters", "drop", "--yes")])
def test_nothing_is_changed_without_saying_what(rows: Rows, run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


# Dead letters


def letter(id: int, message: object = None, kind: str = "Related") -> DeadLetter:
    fields = {"text": "hello ada", "id": 7} if message is None else contents(message)
    return DeadLetter(
        id, "account/1", kind, fields, "ValueError: 'a secret of ada'", "r1", ("Post#1 at account/2",), NOW
    )


@pytest.fixture
def letters(dsn: str, rows: Rows) -> Rows:
    for id in (1, 2, 3):
        transact_once(dsn, dead_letters.insert, letter(id))
    return rows


def test_dead_letters_are_listed_and_shown_without_texts_unless_asked_for(letters: Rows, run: Run) -> None:
    assert ids_of(run("dead-letters", "list", "--json")) == ["3", "2", "1"]
    assert "secret" not in run("dead-letters", "list").stdout
    shown = json.loads(run("dead-letters", "show", "2", "--json").stdout)
    assert shown["contents"] == {"text": "[9 characters]", "id": 7}
    assert shown["error"] == "ValueError: '…'"
    told = run("dead-letters", "show", "2", "--text").stdout
    assert "hello ada" in told
    assert "a secret of ada" in told
    assert run("dead-letters", "show", "9").stderr == "Error: There is no dead letter 9.\n"


def test_dead_letters_are_dropped_by_id_or_all(letters: Rows, run: Run) -> None:
    assert run("dead-letters", "drop", "1", "9", "--yes").stdout == "Dropped 1 dead letter\n"
    assert run("dead-letters", "drop", "--all", "--dry-run").stdout == "Would drop 2 dead letters\n"
    assert run("dead-letters", "drop", "--all", "--yes").stdout == "Dropped 2 dead letters\n"
    assert audit(letters) == [("drop_dead_letters", "1"), ("drop_dead_letters", "2 at once")]


def test_a_letter_is_replayed_by_a_running_server_alone(letters: Rows, run: Run, tmp_path: Any) -> None:
    refused = run("dead-letters", "replay", "1", "--data", str(tmp_path))
    assert (refused.exit_code, refused.stderr) == (1, "Error: No server runs on this data folder.\n")
    assert len(letters.run("SELECT FROM dead_letters")) == 3


# Contents


def test_what_may_be_of_people_is_masked_and_nothing_else() -> None:
    fields = {
        "id": 7, "text": "hello", "empty": "", "visibility": "public", "language": "not a word of the program",
        "at": "2026-11-21T12:00:00Z", "number": "117665", "ids": ["12", "ada"], "deep": {"of": "Post", "name": "x"},
    }  # fmt: skip
    assert masked(fields) == {
        "id": 7, "text": "[5 characters]", "empty": "", "visibility": "public", "language": "[25 characters]",
        "at": "2026-11-21T12:00:00Z", "number": "117665", "ids": ["12", "[3 characters]"],
        "deep": {"of": "Post", "name": "[1 characters]"},
    }  # fmt: skip


@pytest.fixture
def runtime() -> Runtime:
    """One that knows which messages accounts take."""
    made = Runtime(record=unrecorded, chance=lambda: 0.0)
    made.add("account", AccountActor, lambda cell: pytest.fail("no actor is made"))
    return made


@pytest.mark.parametrize(
    "message", [LearnFact(ChangedFollowedTags(1, {"tea": 5})), LearnFact(RevokedToken(b"\0\1")), MuteEnded(7)]
)
def test_a_parked_message_is_made_again_as_it_was(runtime: Runtime, message: LabelledMessage) -> None:
    fields = json.loads(orjson.dumps(contents(message)))
    parked = replace(letter(1, kind=message.label), message=fields)
    assert parked_message(runtime, parked) == message


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("NoSuch", {}), ("LearnFact(ChangedUser)", {"fact": {}}), ("MuteEnded", {"target_id": "x"}), ("MuteEnded", {})],
)
def test_a_message_of_another_version_is_refused(runtime: Runtime, kind: str, fields: dict[str, object]) -> None:
    with pytest.raises(Unreadable):
        parked_message(runtime, replace(letter(1, kind=kind), message=fields))
