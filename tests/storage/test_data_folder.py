"""The data folder is closed to all but its owner, and no folder above it is touched."""

import os
import stat
from pathlib import Path

import pytest

from troupe.storage.engine.cluster import EmbeddedFailed
from troupe.storage.engine.data_folder import make_private
from troupe.storage.engine.embedded import embedded


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(data: Path) -> list[str]:
    """Everything in the folder, and the folder itself, to which group or others have a right."""
    return [str(path) for path in (data, *data.rglob("*")) if not path.is_symlink() and mode(path) & 0o077]


def test_a_folder_that_was_open_is_closed_with_all_that_it_holds(data: Path) -> None:
    (data / "media" / "4f").mkdir(parents=True)
    (data / "media" / "4f" / "photo.jpg").write_bytes(b"photo")
    (data / "base_url").write_text("http://localhost:3000")
    for path in (data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with embedded(data, durable=False):
        assert open_to_others(data) == []
    assert (mode(data), mode(data / "media"), mode(data / "base_url")) == (0o700, 0o700, 0o600)


def test_a_link_in_the_folder_does_not_lead_out_of_it(data: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "theirs").chmod(0o644)
    (data / "link").symlink_to(tmp_path / "theirs")
    (data / "folder").symlink_to(tmp_path)
    before = mode(tmp_path)
    make_private(data)
    assert (mode(tmp_path / "theirs"), mode(tmp_path)) == (0o644, before)


def test_folders_above_keep_their_bits(data: Path) -> None:
    above = data / "above"
    above.mkdir()
    for bits in (0o755, 0o711, 0o2775):
        above.chmod(bits)
        with embedded(above / "data", durable=False):
            assert mode(above) == bits


def test_missing_folders_above_are_made_so_that_postgresql_can_pass(data: Path) -> None:
    mask = os.umask(0o077)
    try:
        with embedded(data / "new" / "newer" / "data", durable=False):
            assert mode(data / "new" / "newer") == 0o755
    finally:
        os.umask(mask)


def test_a_folder_above_that_postgresql_may_not_pass_is_named_and_left_closed(data: Path) -> None:
    closed = data / "closed"
    closed.mkdir()
    # Root's PostgreSQL runs as another user; an ordinary user's runs as that user.
    bits = 0o700 if os.geteuid() == 0 else 0o000
    closed.chmod(bits)
    with pytest.raises(EmbeddedFailed, match=str(closed)) as refusal, embedded(closed / "data", durable=False):
        pass
    assert "\n" not in str(refusal.value)
    assert mode(closed) == bits
    closed.chmod(0o700)
