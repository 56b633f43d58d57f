"""`troupe media`: what takes room, what is removed, and how much room there is."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.supervision.commands import media_keeping, troupe

from .foreign import Rows

Run = Callable[..., Result]

ATTACHMENT = """
    INSERT INTO media_attachments
        (id, account_id, status_id, type, state, file, file_size, node, created_at, updated_at)
    VALUES ($1, $2, $3, 'image', $4::text, $5, 1, CASE WHEN $4::text = 'waiting' THEN 'main' END,
        now() - $6::interval, now() - $6::interval)
"""
CARD = """
    INSERT INTO preview_cards (id, url, found, image_file, image_size, fetched_at)
    VALUES ($1::bigint, 'https://news.test/' || $1::bigint, true, $2, 4, now() - $3::interval)
"""
COPY = """
    INSERT INTO remote_files (url, made, file, size, fetched_at, used_at)
    VALUES ($1, $2, $3, 5, now(), now() - $4::interval)
"""


def name(letter: str) -> str:
    return f"{letter * 32}.png"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def rows(dsn: str) -> Rows:
    made = Rows(dsn)
    made.account(1, "bob", None, name("a"))
    made.account(2, "far", "far.example")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str, data: Path) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(media_keeping, "ROWS_AT_ONCE", 1)
    return lambda *words: CliRunner().invoke(troupe, ["media", *words, "--data", str(data)])


def write(data: Path, file: str, size: int) -> None:
    path = data / "media" / ("" if "/" in file else file[:2]) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def files_in(data: Path) -> set[str]:
    return {path.name for path in (data / "media").rglob("*") if path.is_file()}


def interval(days: int) -> timedelta:
    return timedelta(days=days)


def test_usage_counts_the_files_of_each_kind(rows: Rows, run: Run, data: Path) -> None:
    for id, account, state, file in ((11, 1, "ready", name("b")), (12, 1, "ready", name("c")), (13, 2, "ready", None)):
        rows.run(ATTACHMENT, id, account, None, state, file, interval(0))
    rows.run(ATTACHMENT, 14, 1, None, "waiting", None, interval(0))
    rows.run(CARD, 15, name("d"), interval(0))
    rows.emoji(16, "cat", "far.example", name("e"))
    rows.run(COPY, "https://far.example/a", "avatar", name("f"), interval(0))
    for file, size in ((name("a"), 2), (name("b"), 10), ("waiting/14", 100), (name("d"), 3), (name("e"), 7)):
        write(data, file, size)
    write(data, f"withheld/cc/{name('c')}", 20)
    found = json.loads(run("usage", "--json").stdout)
    counted = {kind: (one["files"], one["bytes"]) for kind, one in found["kinds"].items() if one["files"]}
    assert counted == {
        "attachments": (3, 130), "avatars": (1, 2), "emoji of other servers": (1, 7), "pictures of cards": (1, 3),
        "copies of other servers, avatar": (1, 5),
    }  # fmt: skip
    assert (found["files"], found["bytes"]) == (7, 147)
    assert "all\t7 files\t147 bytes\n" in run("usage").stdout


def test_what_was_not_used_for_some_days_is_removed(rows: Rows, run: Run, data: Path) -> None:
    """Also without a running server."""
    rows.status(10, 1)
    for id, status, days in ((11, None, 9), (12, None, 5), (13, 10, 9)):
        rows.run(ATTACHMENT, id, 1, status, "ready", f"{id:032x}.png", interval(days))
    rows.run(CARD, 14, name("d"), interval(9))
    rows.run(CARD, 15, name("e"), interval(5))
    for url, days in (("https://far.example/old", 9), ("https://far.example/new", 5)):
        rows.run(COPY, url, "image", f"{days:032x}.png", interval(days))
    unused = {f"{11:032x}.png", name("d"), f"{9:032x}.png"}
    kept = {f"{12:032x}.png", f"{13:032x}.png", name("e"), f"{5:032x}.png", name("a")}
    for file in unused | kept:
        write(data, file, 1)
    rehearsed = run("remove", "--days", "7", "--dry-run")
    assert files_in(data) == unused | kept
    kinds = ("attachments in no post", "cards in no post", "copies of files")
    assert rehearsed.stdout == "".join(f"Would remove 1 {kind}\n" for kind in kinds)
    assert rows.run("SELECT FROM outbox") == rows.run("SELECT FROM audit_log") == []
    assert json.loads(run("remove", "--days", "7", "--json").stdout)["removed"] == dict.fromkeys(kinds, 1)
    assert rows.run("SELECT id FROM media_attachments ORDER BY id") == [(12,), (13,)]
    assert rows.run("SELECT id FROM preview_cards") == [(15,)]
    assert rows.run("SELECT url FROM remote_files") == [("https://far.example/new",)]
    promised = {file for (payload,) in rows.run("SELECT payload FROM outbox") for file in payload["names"]}
    assert promised == unused
    assert files_in(data) == kept
    assert rows.run("SELECT action FROM audit_log") == [("remove_media",)]


def test_files_that_can_not_be_removed_here_are_left_to_the_server(rows: Rows, run: Run, data: Path) -> None:
    for url, letter in (("https://far.example/old", "e"), ("https://far.example/older", "f")):
        rows.run(COPY, url, "image", name(letter), interval(9))
    write(data, f"{name('e')[:2]}/{name('e')}/in-its-place", 1)  # a folder, which is no file to remove
    write(data, name("f"), 1)
    told = run("remove", "--days", "7").stdout
    assert told.endswith("Removed 2 copies of files\n1 files could not be removed here. The server removes them.\n")
    assert files_in(data) == {"in-its-place"}


def test_the_budget_is_shown_chosen_and_reset(rows: Rows, run: Run) -> None:
    rows.run(CARD, 14, name("d"), interval(0))
    rows.run(COPY, "https://far.example/a", "image", name("e"), interval(0))
    assert run("budget").stdout == "10.0 GiB by default, 9 bytes used\n"
    assert run("budget", "500M").stdout == "500.0 MiB chosen by staff, 9 bytes used\n"
    assert json.loads(run("budget", "--json").stdout) == {"budget": 500 * 1024**2, "chosen": True, "used": 9}
    assert run("budget", "0").stdout == "0 bytes chosen by staff, 9 bytes used\n"
    assert run("budget", "--reset").stdout == "10.0 GiB by default, 9 bytes used\n"
    acts = [details["value"] for (details,) in rows.run("SELECT details FROM audit_log ORDER BY id")]
    assert acts == [500 * 1024**2, 0, None]


@pytest.mark.parametrize("size", ["-1", "lots", "5X", "1GG", "", "1.5G", "9" * 16])
def test_another_size_is_refused(rows: Rows, run: Run, size: str) -> None:
    assert run("budget", "--", size).exit_code == 2
    assert rows.run("SELECT FROM changed_settings") == []
