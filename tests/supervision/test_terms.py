"""`troupe terms`: what it writes into the files of terms and the audit log, and what it refuses."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree

import pytest
import trio
from click.testing import CliRunner, Result

from troupe.actors.memory.operator_texts import NOTICE
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.term import hold_term
from troupe.storage.operator_texts import LARGEST_FILE, MOST_TERMS
from troupe.supervision.commands import troupe


async def forget_acts(db: Connection) -> None:
    await db.execute("SET LOCAL session_replication_role = replica")  # a trigger keeps the audit log
    await db.execute("DELETE FROM audit_log")


@pytest.fixture
def data(folder: tuple[Path, str]) -> Iterator[Path]:
    yield folder[0]
    rmtree(folder[0] / "texts", ignore_errors=True)
    transact_once(folder[1], forget_acts)


@pytest.fixture
def dsn(folder: tuple[Path, str]) -> str:
    return folder[1]


def run(data: Path, *words: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(troupe, ["terms", *words, "--data", str(data)], input=text)


def files(data: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in (data / "texts" / "terms").glob("*")}


def logged(dsn: str) -> list[tuple[str, str, str]]:
    rows = transact_once(dsn, lambda db: db.fetch("SELECT actor, action, target FROM audit_log ORDER BY id"))
    return [(row["actor"], row["action"], row["target"]) for row in rows]


def test_terms_are_published_changed_and_removed_and_each_act_is_logged(data: Path, dsn: str, tmp_path: Path) -> None:
    source = tmp_path / "terms.md"
    source.write_text("# Terms\n\nBe kind.\n", "utf-8")
    published = run(data, "publish", str(source), "--date", "2026-12-01")
    assert (published.exit_code, published.stdout) == (0, "Published the terms of 2026-12-01\n")
    again = run(data, "publish", "-", "--date", "2026-12-01", text="Be nice.")
    assert (again.exit_code, again.stderr) == (
        1, "Error: There are terms of 2026-12-01 already. --replace changes them.\n",
    )  # fmt: skip
    assert files(data) == {"2026-12-01.md": "# Terms\n\nBe kind.\n"}
    assert run(data, "publish", "-", "--date", "2026-12-01", "--replace", text="Be nice.").exit_code == 0
    assert files(data) == {"2026-12-01.md": "Be nice."}
    assert run(data, "remove", "2026-12-01", "--yes").stdout == "Removed the terms of 2026-12-01\n"
    assert files(data) == {}
    acts = [(act, "2026-12-01") for act in ("publish_terms", "replace_terms", "remove_terms")]
    assert logged(dsn) == [("command line", *act) for act in acts]


def test_the_list_says_which_terms_are_in_force(data: Path) -> None:
    today = datetime.now(UTC).date()
    days = [str(today + timedelta(days=days)) for days in (-30, -2, 30)]
    run(data, "publish", "-", "--date", days[2], text="c")
    assert run(data, "list").stdout == f"{days[2]}\tin force\n", "before the first day of the first ones"
    for day in days[:2]:
        run(data, "publish", "-", "--date", day, text="x")
    states = ("past", "in force", "future")
    assert run(data, "list").stdout == "".join(f"{day}\t{state}\n" for day, state in zip(days, states, strict=True))
    listed = json.loads(run(data, "list", "--json").stdout)
    assert [(one["date"], one["state"], one["characters"]) for one in listed] == [
        (day, state, 1) for day, state in zip(days, states, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("  \n", "it would be empty"),
        ("x" * (LARGEST_FILE + 1), f"it has more than {LARGEST_FILE} bytes"),
        (b"\xff\xfe", "it is not UTF-8"),
    ],
)
def test_what_the_server_could_not_show_is_refused(data: Path, dsn: str, text: str | bytes, reason: str) -> None:
    refused = run(data, "publish", "-", "--date", "2026-12-01", text=text)
    assert (refused.exit_code, refused.stderr) == (1, f"Error: terms/2026-12-01.md: {reason}.\n")
    assert (files(data), logged(dsn)) == ({}, [])


def test_there_are_never_more_terms_than_the_server_reads(data: Path) -> None:
    folder = data / "texts" / "terms"
    folder.mkdir(parents=True)
    for day in range(MOST_TERMS):
        (folder / f"{datetime(2026, 1, 1, tzinfo=UTC).date() + timedelta(days=day)}.md").write_text("x", "utf-8")
    refused = run(data, "publish", "-", "--date", "2027-12-01", text="x")
    assert (refused.exit_code, refused.stderr) == (1, "Error: terms: there would be more than 100 files.\n")
    assert run(data, "publish", "-", "--date", "2026-01-01", "--replace", text="x").exit_code == 0


def test_a_day_without_terms_or_that_is_none_is_refused(data: Path, dsn: str) -> None:
    refused = run(data, "remove", "2026-12-01", "--yes")
    assert (refused.exit_code, refused.stderr) == (1, "Error: There are no terms of 2026-12-01.\n")
    assert run(data, "remove", "../rules", "--yes").exit_code == 2
    assert logged(dsn) == []


def test_a_folder_that_is_not_readable_stays(data: Path) -> None:
    folder = data / "texts" / "terms"
    folder.mkdir(parents=True)
    (folder / "soon.md").write_text("x", "utf-8")
    refused = run(data, "publish", "-", "--date", "2026-12-01", text="x")
    assert (refused.exit_code, "the name is not a date such as" in refused.stderr) == (1, True)
    assert files(data) == {"soon.md": "x"}


async def test_a_running_server_is_told_of_each_change(data: Path, dsn: str) -> None:
    send, receive = trio.open_memory_channel[str | None](10)
    async with hold_term(dsn, on_notice=send.send_nowait):
        for words in (("publish", "-", "--date", "2026-12-01"), ("remove", "2026-12-01", "--yes")):
            await trio.to_thread.run_sync(lambda words=words: run(data, *words, text="x"))
            with trio.fail_after(30):
                assert await receive.receive() == NOTICE
