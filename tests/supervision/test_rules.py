"""`troupe rules`: what it writes into the file of rules and the audit log, and what it refuses."""

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import trio
from click.testing import CliRunner, Result

from troupe.actors.kernel import SystemClock
from troupe.actors.memory import operator_texts
from troupe.http.access.context import HttpContext
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.term import hold_term
from troupe.storage.operator_texts import LARGEST_ID, Rule, RuleText, read_rules, write_rules
from troupe.supervision.children.actor_system import ActorSystem
from troupe.supervision.children.notices import apply_notice
from troupe.supervision.commands import troupe
from troupe.supervision.log.level import LiveLogLevel

from ..stand_ins import unrecorded


async def forget_acts(db: Connection) -> None:
    await db.execute("SET LOCAL session_replication_role = replica")  # a trigger keeps the audit log
    await db.execute("DELETE FROM audit_log")
    for table in ("reports", "accounts"):
        await db.execute(f"DELETE FROM {table}")


@pytest.fixture
def data(folder: tuple[Path, str]) -> Iterator[Path]:
    yield folder[0]
    (folder[0] / "texts" / "rules.toml").unlink(missing_ok=True)
    transact_once(folder[1], forget_acts)


@pytest.fixture
def dsn(folder: tuple[Path, str]) -> str:
    return folder[1]


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(troupe, ["rules", *words, "--data", str(data)])


def rules(data: Path) -> tuple[Rule, ...]:
    return read_rules(data / "texts")


def logged(dsn: str) -> list[tuple[str, str, str]]:
    rows = transact_once(dsn, lambda db: db.fetch("SELECT actor, action, target FROM audit_log ORDER BY id"))
    return [(row["actor"], row["action"], row["target"]) for row in rows]


def test_rules_are_added_changed_and_removed_and_each_act_is_logged(data: Path, dsn: str) -> None:
    assert run(data, "add", "Be kind.", "--hint", "Also to robots.").stdout == "Added rule 1\n"
    assert run(data, "add", 'No "spam" \\ \x7f\nat all').exit_code == 0
    assert run(data, "change", "1", "--text", "Sei nett.", "--language", "de").exit_code == 0
    assert run(data, "change", "1", "--text", "Be nice.").exit_code == 0
    assert rules(data) == (
        Rule(1, RuleText("Be nice.", "Also to robots."), {"de": RuleText("Sei nett.")}),
        Rule(2, RuleText('No "spam" \\ \x7f\nat all')),
    )
    assert run(data, "remove", "1", "--yes").exit_code == 0
    assert [rule.id for rule in rules(data)] == [2]
    acts = [("add_rule", "1"), ("add_rule", "2"), ("change_rule", "1"), ("change_rule", "1"), ("remove_rule", "1")]
    assert logged(dsn) == [("command line", *act) for act in acts]


def test_a_rule_is_tidied_as_people_paste_it(data: Path) -> None:
    run(data, "add", "\ufeff\u201cBe kind\u201d.\r\nAlways.\r\n\r\n", "--hint", "\r\nPlease.\r\n")
    assert [one.original for one in rules(data)] == [RuleText("\u201cBe kind\u201d.\nAlways.", "Please.")]
    run(data, "change", "1", "--text", "Be fair.\r\n\r\n")
    assert [one.original for one in rules(data)] == [RuleText("Be fair.", "Please.")]


def test_an_id_is_not_used_again(data: Path) -> None:
    run(data, "add", "Be kind.")
    assert run(data, "remove", "1", "--yes").exit_code == 0
    assert run(data, "add", "Be kind, really.").stdout == "Added rule 2\n"


def test_an_id_that_a_report_names_is_not_used_again(data: Path, dsn: str) -> None:
    transact_once(dsn, report_about_rule, 7)
    assert run(data, "add", "Be kind.").stdout == "Added rule 8\n"


async def report_about_rule(db: Connection, rule: int) -> None:
    await db.execute(
        "INSERT INTO accounts (id, username, uri, created_at, updated_at) VALUES (1, 'a', 'a', now(), now())"
    )
    await db.execute(
        "INSERT INTO reports (id, account_id, target_account_id, rule_ids, category, created_at, updated_at)"
        " VALUES (1, 1, 1, ARRAY[$1::bigint], 'violation', now(), now())",
        rule,
    )


def test_an_act_that_is_not_stored_leaves_the_file_as_it_is(data: Path, dsn: str) -> None:
    run(data, "add", "Be kind.")
    transact_once(dsn, lambda db: db.execute("ALTER TABLE audit_log RENAME TO away"))
    try:
        assert run(data, "add", "No spam.").exit_code != 0
    finally:
        transact_once(dsn, lambda db: db.execute("ALTER TABLE away RENAME TO audit_log"))
    assert [rule.original.text for rule in rules(data)] == ["Be kind."]


def test_there_is_a_last_id(data: Path) -> None:
    folder = data / "texts"
    folder.mkdir(exist_ok=True)
    write_rules(folder, [Rule(LARGEST_ID, RuleText("Be kind."))])
    refused = run(data, "add", "No spam.")
    assert (refused.exit_code, refused.stderr) == (1, "Error: No higher id is left for another rule.\n")


def test_the_rules_are_listed(data: Path) -> None:
    run(data, "add", "Be\nkind.")
    assert run(data, "list").stdout == "1\tBe kind.\n"
    assert json.loads(run(data, "list", "--json").stdout) == [
        {"id": "1", "text": "Be\nkind.", "hint": "", "translations": {}}
    ]


def test_nothing_is_removed_without_a_confirmation(data: Path) -> None:
    run(data, "add", "Be kind.")
    assert run(data, "remove", "1").exit_code == 1
    assert [rule.id for rule in rules(data)] == [1]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add", " "), "rule 2: the text has not 1 to 1000 characters"),
        (("add", "x" * 1001), "rule 2: the text has not 1 to 1000 characters"),
        (("add", "Quiet", "--hint", "x" * 5001), "more than 5000 characters"),
        (("change", "1", "--hint", "Nur so.", "--language", "de"), "rule 1: the text has not"),
        (("change", "7", "--text", "x"), "There is no rule 7."),
        (("remove", "7", "--yes"), "There is no rule 7."),
    ],
)
def test_what_the_server_could_not_read_is_refused(data: Path, dsn: str, words: tuple[str, ...], reason: str) -> None:
    run(data, "add", "Be kind.")
    refused = run(data, *words)
    assert (refused.exit_code, reason in refused.stderr) == (1, True), refused.output
    assert rules(data) == (Rule(1, RuleText("Be kind.")),)
    assert logged(dsn) == [("command line", "add_rule", "1")]
    assert [path.name for path in (data / "texts").iterdir()] == ["rules.toml"]


def test_a_file_that_is_not_readable_stays(data: Path) -> None:
    run(data, "add", "Be kind.")
    file = data / "texts" / "rules.toml"
    file.write_text("[[rules]", "utf-8")
    refused = run(data, "add", "No spam.")
    assert (refused.exit_code, "Correct the file first." in refused.stderr) == (1, True)
    assert file.read_text("utf-8") == "[[rules]"


async def test_a_running_server_shows_a_change_at_once(data: Path, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_texts, "READ_AGAIN", timedelta(days=1))
    shown = operator_texts.OperatorTexts(data / "texts", "", SystemClock(), unrecorded)
    # The only parts of a server that this notice is for.
    context, actors = (
        SimpleNamespace(operator_texts=shown),
        SimpleNamespace(own_rows=SimpleNamespace(clear=lambda: None)),
    )
    send, receive = trio.open_memory_channel[str | None](10)
    async with hold_term(dsn, on_notice=send.send_nowait):
        assert (await shown.current()).rules == ()
        await trio.to_thread.run_sync(run, data, "add", "Be kind.")
        with trio.fail_after(30):
            notice = await receive.receive()
        apply_notice(notice, cast("ActorSystem", actors), cast("HttpContext", context), cast("LiveLogLevel", actors))
        assert [rule.original.text for rule in (await shown.current()).rules] == ["Be kind."]


def test_what_root_makes_belongs_to_the_owner_of_the_folder_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, int]] = []

    def give(what: Path | int, user: int, group: int) -> None:
        given.append(("a file" if isinstance(what, int) else what.name, user))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", give)
    monkeypatch.setattr(os, "fchown", give)
    write_rules(tmp_path / "data" / "texts", [])
    owner = tmp_path.stat().st_uid
    assert given == [("data", owner), ("texts", owner), ("a file", owner)]
