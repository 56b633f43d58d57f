"""`troupe media`: what takes room, what is removed, and how much room there is."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from troupe.actors.configuration import Settings
from troupe.actors.rules.wording import number_of
from troupe.storage.buckets import BucketStore
from troupe.storage.engine.faults import BucketFailed
from troupe.storage.media_stores import LocalStore, MediaStore, StoredFile
from troupe.supervision.commands import media, media_moves, troupe
from troupe.supervision.settings.media_folders import media_store

from ..buckets import new_bucket
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
def rows(made: Rows) -> Rows:
    made.account(1, "bob", None, name("a"))
    made.account(2, "far", "far.example")
    return made


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, dsn: str, data: Path) -> Run:
    monkeypatch.setenv("TROUPE_DATABASE_URL", dsn)
    monkeypatch.setattr(media, "ROWS_AT_ONCE", 1)
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
    assert found["accounts"] == [{"account": "bob", "files": 4, "bytes": 132}]
    assert run("usage").stdout.endswith("all\t7 files\t147 bytes\n@bob\t4 files\t132 bytes\n")


def test_usage_names_the_accounts_that_take_most(rows: Rows, run: Run, data: Path) -> None:
    for id, owner, size in ((11, 1, 5), (12, 2, 7), (13, 2, 9)):
        rows.run(ATTACHMENT, id, owner, None, "ready", f"{id:032x}.png", interval(0))
        write(data, f"{id:032x}.png", size)
    found = json.loads(run("usage", "--accounts", "1", "--json").stdout)["accounts"]
    assert found == [{"account": "far@far.example", "files": 2, "bytes": 16}]
    assert "@" not in run("usage", "--accounts", "0").stdout


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
    assert rehearsed.stdout == "".join(f"Would remove {number_of(1, kind)}\n" for kind in kinds)
    assert rows.run("SELECT FROM outbox") == rows.run("SELECT FROM audit_log") == []
    assert json.loads(run("remove", "--days", "7", "--json").stdout)["removed"] == dict.fromkeys(kinds, 1)
    assert rows.run("SELECT id FROM media_attachments ORDER BY id") == [(12,), (13,)]
    assert rows.run("SELECT id FROM preview_cards") == [(15,)]
    assert rows.run("SELECT url FROM remote_files") == [("https://far.example/new",)]
    promised = {file for (payload,) in rows.run("SELECT payload FROM outbox") for file in payload["names"]}
    assert promised == unused
    assert files_in(data) == kept
    assert rows.run("SELECT action FROM audit_log ORDER BY id") == [("remove_media",), ("removed_media",)]


def test_files_that_can_not_be_removed_here_are_left_to_the_server(rows: Rows, run: Run, data: Path) -> None:
    for url, letter in (("https://far.example/old", "e"), ("https://far.example/older", "f")):
        rows.run(COPY, url, "image", name(letter), interval(9))
    write(data, f"{name('e')[:2]}/{name('e')}/in-its-place", 1)  # a folder, which is no file to remove
    write(data, name("f"), 1)
    told = run("remove", "--days", "7").stdout
    assert told.endswith("Removed 2 copies of files\nLeft to the server, because they can't be removed here: 1 file.\n")
    assert files_in(data) == {"in-its-place"}


def test_a_removal_is_in_the_audit_log_before_anything_is_gone(
    rows: Rows, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is there also if the command is killed."""
    logged: list[object] = []

    def look(*_: object) -> int:
        logged.append(rows.run("SELECT action, target FROM audit_log"))
        return 0

    monkeypatch.setattr(media, "_remove_files", look)
    run("remove", "--days", "1")
    assert logged[0] == [("remove_media", "1 day")]


def test_the_budget_is_shown_chosen_and_reset(rows: Rows, run: Run) -> None:
    rows.run(CARD, 14, name("d"), interval(0))
    rows.run(COPY, "https://far.example/a", "image", name("e"), interval(0))
    assert run("budget").stdout == "10.0 GiB by default, 9 bytes used\n"
    assert run("budget", "500M").stdout == "500.0 MiB chosen by staff, 9 bytes used\n"
    assert json.loads(run("budget", "--json").stdout) == {"budget": 500 * 1024**2, "chosen": True, "used": 9}
    assert run("budget", "0").stdout == "0 bytes chosen by staff, 9 bytes used\n"
    assert run("budget", "--reset").stdout == "10.0 GiB by default, 9 bytes used\n"
    acts = [details["after"] for (details,) in rows.run("SELECT details FROM audit_log ORDER BY id")]
    assert acts == [500 * 1024**2, 0, None]


def test_a_dry_run_of_the_budget_shows_what_would_go(rows: Rows, run: Run) -> None:
    rows.run(CARD, 14, name("d"), interval(9))
    for url, days in (("https://far.example/a", 5), ("https://far.example/b", 1)):
        rows.run(COPY, url, "image", f"{days:032x}.png", interval(days))
    assert run("budget", "--dry-run").stdout == "Would remove 0 files with 0 bytes\n"
    assert run("budget", "9", "--dry-run").stdout == "Would remove 2 files with 9 bytes\n"
    assert json.loads(run("budget", "0", "--dry-run", "--json").stdout) == {"files": 3, "bytes": 14, "dry_run": True}
    assert run("budget", "9").exit_code == 0
    assert run("budget", "--dry-run").stdout == "Would remove 2 files with 9 bytes\n"
    assert run("budget", "--reset", "--dry-run").stdout == "Would remove 0 files with 0 bytes\n"
    assert run("budget").stdout == "9 bytes chosen by staff, 14 bytes used\n"
    assert rows.run("SELECT count(*) FROM remote_files") == [(2,)]
    assert rows.run("SELECT FROM outbox") == []


@pytest.fixture
def bucket(s3_endpoint: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> MediaStore:
    """A bucket that the settings name, beside the data folder that is in use."""
    settings = new_bucket(s3_endpoint)
    for field, value in settings.items():
        monkeypatch.setenv(f"TROUPE_{field.upper()}", value)
    monkeypatch.setenv("TROUPE_MEDIA_STORE", "local")
    return media_store(Settings(data=data, **settings), "s3")


def attached(rows: Rows, data: Path, *ids: int) -> None:
    for id in ids:
        rows.run(ATTACHMENT, id, 1, None, "ready", f"{id:032x}.png", interval(0))
        write(data, f"{id:032x}.png", id)


def stored(*ids: int, withheld: bool = False) -> set[StoredFile]:
    return {StoredFile(f"{id:032x}.png", id, withheld) for id in ids}


def moved(run: Run, *words: str, store: str = "s3") -> tuple[int, int, int]:
    """Move, and return how many files and bytes were brought, and how many files were removed."""
    told = json.loads(run("move", store, "--json", *words).stdout)
    return told["brought"], told["bytes"], told["removed"]


def test_files_are_moved_to_a_bucket_while_the_server_runs(
    rows: Rows, run: Run, data: Path, bucket: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = LocalStore(data / "media")
    attached(rows, data, 11, 12, 13)
    local.withhold(f"{12:032x}.png")
    assert moved(run, "--dry-run") == (3, 36, 0)
    assert list(bucket.files()) == []
    assert moved(run) == (3, 36, 0)
    assert {*bucket.files()} == {*local.files()} == stored(11, 13) | stored(12, withheld=True)
    # Until the server is restarted, its own store says what there is.
    local.release(f"{12:032x}.png")
    local.remove([f"{13:032x}.png"])
    attached(rows, data, 14)
    assert moved(run, "--dry-run") == moved(run) == (2, 26, 1)
    assert {*bucket.files()} == {*local.files()} == stored(11, 12, 14)
    # From then on, the bucket does.
    monkeypatch.setenv("TROUPE_MEDIA_STORE", "s3")
    attached(rows, data, 15, 16)
    rows.run("DELETE FROM media_attachments WHERE id IN (11, 16)")
    bucket.remove([f"{11:032x}.png"])
    bucket.withhold(f"{14:032x}.png")
    assert moved(run, "--dry-run") == (1, 15, 5)
    told = run("move", "s3")
    assert told.stdout == "Brought 1 file with 15 bytes to the new store\nRemoved 5 files from the old store\n"
    assert {*bucket.files()} == stored(12, 15) | stored(14, withheld=True)
    assert list(local.files()) == []
    assert not list((data / "media" / "incoming" / "command-line").iterdir())


def test_files_are_moved_back(
    rows: Rows, run: Run, data: Path, bucket: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached(rows, data, 11, 12)
    run("move", "s3")
    monkeypatch.setenv("TROUPE_MEDIA_STORE", "s3")
    run("move", "s3")
    monkeypatch.setenv("TROUPE_MEDIA_STORE", "local")
    bucket.withhold(f"{12:032x}.png")
    assert moved(run, store="local") == (2, 23, 2)
    assert {*LocalStore(data / "media").files()} == stored(11) | stored(12, withheld=True)
    assert list(bucket.files()) == []


def test_a_move_that_fails_is_continued(
    rows: Rows, run: Run, data: Path, bucket: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TROUPE_MEDIA_STORE", "s3")
    monkeypatch.setattr(media_moves, "BATCH", 1)
    attached(rows, data, 11, 12, 13)
    put, names = BucketStore.put, list[str]()

    def two_alone(store: BucketStore, name: str, source: Path, *, withheld: bool = False) -> None:
        names.append(name)
        if len(names) == 3:
            raise BucketFailed("the store is away")
        put(store, name, source, withheld=withheld)

    with monkeypatch.context() as patch:
        patch.setattr(BucketStore, "put", two_alone)
        refused = run("move", "s3")
        assert (refused.exit_code, "not all moved: the store is away" in refused.stderr) == (1, True)
    assert (len(list(bucket.files())), len(list(LocalStore(data / "media").files()))) == (2, 1)
    assert json.loads(run("move", "s3", "--json").stdout)["brought"] == 1
    assert {*bucket.files()} == stored(11, 12, 13)


def test_a_move_to_a_bucket_without_its_settings_is_refused(rows: Rows, run: Run) -> None:
    refused = run("move", "s3")
    assert (refused.exit_code, "s3_bucket" in refused.stderr) == (1, True)


def test_only_a_server_with_a_bucket_loads_its_library() -> None:
    program = "import sys, troupe.supervision.tree, troupe.supervision.commands.media as _; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=True, text=True)
    assert "troupe.storage.files" in loaded.stdout.split()
    assert "obstore" not in loaded.stdout.split()


@pytest.mark.parametrize("size", ["-1", "lots", "5X", "1GG", "", "1.5G", "9" * 16])
def test_another_size_is_refused(rows: Rows, run: Run, size: str) -> None:
    assert run("budget", "--", size).exit_code == 2
    assert rows.run("SELECT FROM changed_settings") == []
