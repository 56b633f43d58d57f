"""`troupe emoji`: pictures that are made anew, names that are checked, and archives that come from anybody."""

import gzip
import io
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import pyvips
from click.testing import CliRunner, Result

from troupe.storage import custom_emojis
from troupe.storage.custom_emojis import CustomEmoji
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.json_values import JsonObject
from troupe.supervision.commands import emoji_files, troupe

from ..http.uploading import animation, moving_png, picture

MIB = 1024 * 1024

pytestmark = pytest.mark.usefixtures("media_made_once")


@pytest.fixture
def data(folder: tuple[Path, str]) -> Iterator[Path]:
    yield folder[0]
    for one in stored(folder[1]):
        run(folder[0], "remove", one.shortcode, "--yes")


@pytest.fixture
def dsn(folder: tuple[Path, str]) -> str:
    return folder[1]


def run(data: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(troupe, ["emoji", *map(str, words), "--data", str(data)])


def stored(dsn: str) -> list[CustomEmoji]:
    return transact_once(dsn, custom_emojis.find_local)


def file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def served(data: Path, name: str) -> pyvips.Image:
    path, frames = str(data / "media" / name[:2] / name), "" if name.endswith("png") else "[n=-1]"
    return pyvips.Image.new_from_file(path + frames)


def files_of(data: Path) -> set[str]:
    return {path.name for path in (data / "media").rglob("*") if path.is_file()}


def archive(folder: Path, *members: tuple[str | tarfile.TarInfo, bytes], zipped: bool = False) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = info.size or len(content)
            tar.addfile(info, io.BytesIO(content))
    data = gzip.compress(raw.getvalue()) if zipped else raw.getvalue()
    return file(folder, "emoji.tar", data)


@pytest.mark.parametrize(
    ("content", "ending"),
    [(picture(64, 40), "png"), (picture(64, 40, "webp"), "webp"), (picture(64, 40, "gif"), "png")],
)
def test_a_still_picture_is_made_anew_and_stands_for_itself(
    data: Path, dsn: str, tmp_path: Path, content: bytes, ending: str
) -> None:
    added = run(data, "add", "cat", file(tmp_path, "x", content), "--category", " Animals ", "--unlisted")
    assert (added.exit_code, added.stdout) == (0, "Added :cat:\n"), added.output
    (emoji,) = stored(dsn)
    assert (emoji.shortcode, emoji.category, emoji.visible_in_picker) == ("cat", "Animals", False)
    assert emoji.file == emoji.static_file
    assert emoji.file.endswith(ending)
    image = served(data, emoji.file)
    assert (image.width, image.height) == (64, 40)


def test_a_large_picture_is_scaled_down_and_loses_its_metadata(data: Path, dsn: str, tmp_path: Path) -> None:
    image = pyvips.Image.black(1000, 500).copy()
    image.set_type(pyvips.GValue.gstr_type, "exif-ifd0-Make", "Secret camera")
    run(data, "add", "cat", file(tmp_path, "x", image.webpsave_buffer()))
    shown = served(data, stored(dsn)[0].file)
    assert (shown.width, shown.height) == (256, 128)
    assert not [name for name in shown.get_fields() if name.startswith("exif")]


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_a_moving_picture_has_a_still_one_beside_it(data: Path, dsn: str, tmp_path: Path, kind: str) -> None:
    added = run(
        data,
        "add",
        "cat",
        file(tmp_path, "x", moving_png(600, 300, 4) if kind == "png" else animation(600, 300, 4, kind)),
    )
    assert added.exit_code == 0, added.output
    (emoji,) = stored(dsn)
    moving, still = served(data, emoji.file), served(data, emoji.static_file)
    assert (moving.get_n_pages(), moving.width) == (4, 256)
    assert (still.get_n_pages(), still.width, still.height) == (1, 256, 128)


def test_files_of_a_removed_emoji_are_promised_to_be_removed(data: Path, dsn: str, tmp_path: Path) -> None:
    run(data, "add", "cat", file(tmp_path, "x", animation()))
    (emoji,) = stored(dsn)
    removed = run(data, "remove", ":cat:", "--yes")
    assert (removed.exit_code, removed.stdout) == (0, "Removed :cat:\n")
    assert stored(dsn) == []
    names = transact_once(dsn, lambda db: db.fetchval("SELECT payload -> 'names' FROM outbox ORDER BY id DESC"))
    assert set(names) == set(emoji.files)
    again = run(data, "remove", "cat", "--yes")
    assert (again.exit_code, again.stderr) == (1, "Error: there is no emoji :cat:.\n")


def test_an_emoji_takes_the_place_of_another_one_only_if_asked(data: Path, dsn: str, tmp_path: Path) -> None:
    path = file(tmp_path, "x", picture())
    run(data, "add", "cat", path)
    before, files = stored(dsn), files_of(data)
    refused = run(data, "add", "cat", path)
    assert refused.exit_code == 1
    assert "there is an emoji :cat: already; --replace takes its place." in refused.stderr
    assert (stored(dsn), files_of(data)) == (before, files)
    assert run(data, "add", "cat", path, "--replace").exit_code == 0
    assert [one.shortcode for one in stored(dsn)] == ["cat"]
    assert stored(dsn) != before
    assert run(data, "add", "Cat", path).exit_code == 0  # another name


def test_the_list_has_names_categories_and_marks(data: Path, tmp_path: Path) -> None:
    path = file(tmp_path, "x", picture())
    run(data, "add", "dog", path, "--unlisted")
    run(data, "add", "cat", path, "--category", "Animals")
    assert run(data, "list").stdout == ":cat:\tAnimals\n:dog:\t-\tunlisted\n"
    listed = json.loads(run(data, "list", "--json").stdout)
    assert [(one["shortcode"], one["category"], one["visible_in_picker"]) for one in listed] == [
        ("cat", "Animals", True), ("dog", None, False),
    ]  # fmt: skip


def test_an_emoji_is_disabled_enabled_and_put_under_another_heading(data: Path, dsn: str, tmp_path: Path) -> None:
    run(data, "add", "cat", file(tmp_path, "x", picture()), "--unlisted")
    (added,) = stored(dsn)
    steps = [
        (("disable", ":cat:"), "Disabled :cat:\n", {"disabled": True}),
        (("enable", "cat"), "Enabled :cat:\n", {"disabled": False}),
        (("category", "cat", " Animals "), "Changed :cat:\n", {"category": "Animals"}),
        (("category", "cat"), "Changed :cat:\n", {"category": None}),
    ]
    for words, said, changes in steps:
        done = run(data, *words)
        assert (done.exit_code, done.stdout) == (0, said), done.output
        (now,) = stored(dsn)
        assert now == replace(added, **changes, updated_at=now.updated_at)
    for words in (("disable", "dog"), ("enable", "dog"), ("category", "dog", "Animals")):
        refused = run(data, *words)
        assert (refused.exit_code, refused.stderr) == (1, "Error: there is no emoji :dog:.\n")
    refused = run(data, "category", "cat", "x" * 101)
    assert (refused.exit_code, refused.stderr) == (1, "Error: the category has not 1 to 100 characters.\n")


def test_each_act_is_in_the_audit_log(data: Path, dsn: str, tmp_path: Path) -> None:
    start = transact_once(dsn, lambda db: db.fetchval("SELECT coalesce(max(id), 0) FROM audit_log"))
    path = file(tmp_path, "x", picture())
    adding, removing = ("add", "cat", path), ("remove", "cat", "--yes")
    for words in (adding, (*adding, "--replace"), ("disable", "cat"), removing):
        assert run(data, *words).exit_code == 0
    log = transact_once(
        dsn, lambda db: db.fetch("SELECT actor, action, target FROM audit_log WHERE id > $1 ORDER BY id", start)
    )
    acts = ("add", "remove", "add", "change", "remove")
    assert [tuple(row.values()) for row in log] == [("command line", f"{act}_custom_emoji", "cat") for act in acts]


@pytest.mark.parametrize(
    ("name", "content", "options", "reason"),
    [
        ("c", picture(), (), "the name 'c' is not 2 to 100 letters"),
        ("a" * 101, picture(), (), "is not 2 to 100 letters"),
        ("ca-t", picture(), (), "is not 2 to 100 letters"),
        ("çat", picture(), (), "is not 2 to 100 letters"),
        ("cat", b"\x89PNG\r\n\x1a\n" + b"\0" * 256 * 1024, (), "the picture has more than 256 KiB"),
        ("cat", picture(8, 8, "jpg"), (), "the picture is not a PNG, GIF, WebP or AVIF"),
        ("cat", b"<svg xmlns='http://www.w3.org/2000/svg'/>", (), "the picture is not a PNG, GIF, WebP or AVIF"),
        ("cat", b"", (), "the picture is not a PNG, GIF, WebP or AVIF"),
        ("cat", picture()[:60], (), "the picture can't be used"),
        ("cat", picture(), ("--category", "x" * 101), "the category has not 1 to 100 characters"),
        ("cat", picture(), ("--category", "a\nb"), "the category has not 1 to 100 characters"),
    ],
)
def test_an_emoji_that_cannot_be_added_leaves_nothing(
    data: Path, dsn: str, tmp_path: Path, name: str, content: bytes, options: tuple[str, ...], reason: str
) -> None:
    files = files_of(data)
    refused = run(data, "add", name, file(tmp_path, "x", content), *options)
    assert refused.exit_code == 1, refused.output
    assert reason in refused.stderr
    assert (stored(dsn), files_of(data)) == ([], files)


def test_a_picture_that_would_unfold_to_too_many_pixels_is_refused(data: Path, dsn: str, tmp_path: Path) -> None:
    bomb = pyvips.Image.black(10_000, 10_000).pngsave_buffer(compression=9)
    assert len(bomb) < 256 * 1024
    refused = run(data, "add", "cat", file(tmp_path, "x", bomb))
    assert "10000x10000 images are not supported" in refused.stderr
    assert stored(dsn) == []


@pytest.mark.parametrize("form", ["folder", "tar", "tar.gz"])
def test_all_pictures_of_a_folder_or_an_archive_are_added(data: Path, dsn: str, tmp_path: Path, form: str) -> None:
    files = {"cat.png": picture(), "dog.GIF": animation(), "._cat.png": b"x", "LICENSE.txt": b"x", ".hidden.png": b"x"}
    if form == "folder":
        source = tmp_path / "emoji"
        source.mkdir()
        for name, content in files.items():
            file(source, name, content)
        (source / "sub.png").mkdir()
        (source / "link.png").symlink_to("/etc/passwd")
    else:
        members = [(f"pack/{name}", content) for name, content in files.items()]
        source = archive(tmp_path, *members, zipped=form == "tar.gz")
    added = run(data, "import", source, "--category", "Pack")
    assert (added.exit_code, added.stdout) == (0, "Added 2 emoji.\n"), added.output
    assert [(one.shortcode, one.category) for one in stored(dsn)] == [("cat", "Pack"), ("dog", "Pack")]


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def large(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("dog.png", b"no picture")], "dog.png: the picture is not a PNG"),
        ([("\u732b.png", picture())], "\u732b.png: the name '\u732b' is not 2 to 100 letters"),
        ([("../../cat.png", picture())], "the archive has a file '../../cat.png', which leads out of it"),
        ([("/etc/cat.png", picture())], "the archive has a file '/etc/cat.png', which leads out of it"),
        ([(special("cat.png", tarfile.SYMTYPE, "/etc/passwd"), b"")], "cat.png: it is a link or another special file"),
        ([(special("cat.png", tarfile.LNKTYPE, "/etc/passwd"), b"")], "cat.png: it is a link or another special file"),
        ([(special("cat.png", tarfile.FIFOTYPE), b"")], "cat.png: it is a link or another special file"),
        ([(special("cat.png", tarfile.CHRTYPE), b"")], "cat.png: it is a link or another special file"),
        ([("readme.txt", b"x")], "has no pictures"),
        ([("cat.png", b"\x89PNG" + b"\0" * 256 * 1024)], "cat.png: the picture has more than 256 KiB"),
    ],
)
def test_an_archive_of_which_no_file_can_be_used_is_refused(
    data: Path, dsn: str, tmp_path: Path, members: list[tuple[str | tarfile.TarInfo, bytes]], reason: str
) -> None:
    files = files_of(data)
    refused = run(data, "import", archive(tmp_path, *members))
    assert refused.exit_code == 1, refused.output
    assert reason in refused.stderr
    assert refused.stderr.endswith("No emoji was added.\n")
    assert (stored(dsn), files_of(data)) == ([], files)


def zipped(folder: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / "emoji.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        link = zipfile.ZipInfo("pack/link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return folder / "emoji.zip"


def test_what_can_be_used_of_a_pack_is_added_and_the_rest_is_named(data: Path, dsn: str, tmp_path: Path) -> None:
    run(data, "add", "taken", file(tmp_path, "x", picture()))
    members = {
        "pack/Blob-Dog.png": picture(),
        "pack/._Blob-Dog.png": b"x",
        "__MACOSX/pack/._Blob-Dog.png": b"x",
        "__MACOSX/pack/other.png": b"x",
        "pack/.DS_Store": b"x",
        "pack/Thumbs.db": b"x",
        "pack/inner folder/two words.v2.PNG": picture(),
        "pack/caf\u00e9.webp": picture(8, 8, "webp"),
        "pack/cafe.png": picture(),
        "pack/\u732b.png": picture(),
        "pack/broken.png": b"no picture",
        "pack/large.png": b"\x89PNG" + b"\0" * 256 * 1024,
        "pack/taken.png": picture(),
    }
    added = run(data, "import", zipped(tmp_path, members))
    assert (added.exit_code, added.stdout) == (0, "Added 3 emoji.\n"), added.output
    assert sorted(one.shortcode for one in stored(dsn)) == ["Blob_Dog", "cafe", "taken", "two_words_v2"]
    assert added.stderr.splitlines() == [
        "pack/Blob-Dog.png becomes :Blob_Dog:.",
        "pack/inner folder/two words.v2.PNG becomes :two_words_v2:.",
        "Refused: pack/large.png: the picture has more than 256 KiB.",
        "Refused: pack/link.png: it is a link or another special file.",
        "Refused: pack/caf\u00e9.webp: there is another file for :cafe:.",
        "Refused: pack/\u732b.png: the name '\u732b' is not 2 to 100 letters a to z, digits and underscores.",
        "Refused: pack/taken.png: there is an emoji :taken: already; --replace takes its place.",
        "Refused: pack/broken.png: the picture is not a PNG, GIF, WebP or AVIF.",
    ]


@pytest.mark.parametrize(
    ("name", "manifest"),
    [
        (
            "pack.json",
            {"pack": {"license": "CC0"}, "files": {"blob-dog": "d.png", "blobcat": "c.png", "no": "gone.png"}},
        ),
        (
            "meta.json",
            {
                "metaVersion": 2,
                "emojis": [
                    {"fileName": "d.png", "emoji": {"name": "blob-dog", "category": "Blobs", "aliases": ["dog"]}},
                    {"fileName": "c.png", "emoji": {"name": "blobcat", "category": None}},
                    {"fileName": 7},
                    None,
                ],
            },
        ),
    ],
)
def test_a_manifest_names_the_pictures(data: Path, dsn: str, tmp_path: Path, name: str, manifest: JsonObject) -> None:
    pack = tmp_path / "packs" / "blobs"
    pack.mkdir(parents=True)
    file(pack, name, json.dumps(manifest).encode())
    for picture_name in ("d.png", "c.png", "plain.png"):
        file(pack, picture_name, picture())
    added = run(data, "import", tmp_path / "packs")
    assert added.exit_code == 0, added.output
    category = "Blobs" if name == "meta.json" else None
    assert {one.shortcode: one.category for one in stored(dsn)} == {
        "blob_dog": category, "blobcat": None, "plain": None,
    }  # fmt: skip
    assert "blobs/d.png becomes :blob_dog:." in added.stderr


@pytest.mark.parametrize("manifest", [b"no JSON", b"[]", b'{"files": [1], "emojis": {"a": 1}}', b"[" * 100_000])
def test_a_manifest_that_is_none_is_left_out(tmp_path: Path, manifest: bytes) -> None:
    file(tmp_path, "pack.json", manifest)
    file(tmp_path, "cat.png", picture())
    assert [one.shortcode for one in emoji_files.read_pictures(tmp_path).files] == ["cat"]


def bomb() -> bytes:
    """Hundreds of MiB of one file, in less than one."""
    head = large("readme.txt", 512 * MIB).tobuf(tarfile.PAX_FORMAT)
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="w") as zipped:
        zipped.write(head)
        for _ in range(160):
            zipped.write(b"\0" * MIB)
    return raw.getvalue()


def header_bomb() -> bytes:
    """A header that says of itself that it is larger than any memory."""
    info = large("x", 2**33)
    info.type = tarfile.XHDTYPE
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"9" * (140 * MIB))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bomb, "the archive has more than 128 MiB when it is unzipped"),
        (header_bomb, "the archive has more than 128 MiB when it is unzipped"),
        (lambda: b"PK\x03\x04 broken", "is not a zip archive, or is damaged"),
        (lambda: b"no archive", "is not a tar archive, or is damaged"),
        (lambda: gzip.compress(b"no archive"), "is not a tar archive, or is damaged"),
        (lambda: b"\x1f\x8b broken", "emoji.tar"),
        (lambda: gzip.compress(b"\0" * 5000)[:-9], "emoji.tar"),
    ],
)
def test_an_archive_that_is_none_or_far_too_large_is_refused(
    tmp_path: Path, content: Callable[[], bytes], reason: str
) -> None:
    path = file(tmp_path, "emoji.tar", content())
    with pytest.raises(emoji_files.InvalidEmoji, match=reason):
        emoji_files.read_pictures(path)


def test_a_rehearsed_import_leaves_nothing(data: Path, dsn: str, tmp_path: Path) -> None:
    file(tmp_path, "cat.png", picture())
    before = files_of(data)
    rehearsed = run(data, "import", tmp_path, "--dry-run")
    assert (rehearsed.exit_code, rehearsed.stdout) == (0, "Would add 1 emoji.\n")
    assert (stored(dsn), files_of(data)) == ([], before)


def test_a_signal_ends_an_import_and_nothing_is_left(data: Path, dsn: str, tmp_path: Path) -> None:
    before = files_of(data)
    for number in range(100):
        file(tmp_path, f"cat{number}.png", picture(64, 40))
    command = [sys.executable, "-c", "from troupe.supervision.commands import main; main()", "emoji", "import"]
    process = subprocess.Popen([*command, tmp_path, "--data", data], stderr=subprocess.PIPE, text=True)
    while files_of(data) <= before or not list((data / "media").glob("??/*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.terminate()
    _, said = process.communicate()
    assert (process.returncode, "SIGTERM. No emoji was added" in said) == (1, True)
    assert (files_of(data), stored(dsn)) == (before, [])


KILLED_BEFORE_ROWS = """
import os, signal
from troupe.supervision.commands import main, new_emoji
async def die(*arguments): os.kill(os.getpid(), signal.SIGKILL)
new_emoji._store = die
main()
"""


def test_files_of_a_killed_import_are_marked_as_left_over(data: Path, dsn: str, tmp_path: Path) -> None:
    """The server removes them later by these marks."""
    before = files_of(data)
    command = [sys.executable, "-c", KILLED_BEFORE_ROWS, "emoji", "add", "cat", file(tmp_path, "cat.png", picture())]
    assert subprocess.run([*command, "--data", data], check=False).returncode == -signal.SIGKILL
    published = [path for path in (data / "media").glob("??/*") if path.name not in before]
    marks = list((data / "media" / "incoming" / "command-line").iterdir())
    assert {path.stem.removesuffix("-small") for path in published} == {mark.name for mark in marks} != set()
    for path in (*published, *marks):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("content", [picture(64, 40), b"no picture"])
def test_a_command_that_ends_leaves_no_marks(data: Path, tmp_path: Path, content: bytes) -> None:
    run(data, "add", "cat", file(tmp_path, "cat.png", content))
    assert list((data / "media" / "incoming" / "command-line").iterdir()) == []


def test_files_belong_to_the_owner_of_the_data_folder(data: Path, dsn: str, tmp_path: Path) -> None:
    """If root runs the command, too: the server may be another user."""
    owner = data.stat().st_uid
    assert run(data, "add", "cat", file(tmp_path, "cat.png", picture(64, 40))).exit_code == 0
    (one,) = stored(dsn)
    paths = [path for name in one.files for path in ((data / "media" / name[:2] / name), data / "media" / name[:2])]
    assert {path.stat().st_uid for path in (*paths, data / "media", data / "media" / "incoming")} == {owner}


def test_an_archive_has_a_number_of_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emoji_files, "MOST_PICTURES", 2)
    path = archive(tmp_path, *((f"cat{number}.png", b"x") for number in range(3)))
    with pytest.raises(emoji_files.InvalidEmoji, match="more than 2 pictures"):
        emoji_files.read_pictures(path)
