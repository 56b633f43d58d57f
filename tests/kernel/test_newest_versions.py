"""The newest versions that outdated messages are compared with."""

from unittest.mock import patch

from troupe.actors.broadcast.broadcast import NewestVersions


def test_a_version_is_overtaken_by_a_later_one_alone() -> None:
    edits = NewestVersions[int]()
    edits.note(1, 7)
    edits.note(1, 5)
    assert [edits.is_overtaken(1, version) for version in (6, 7, 8)] == [True, False, False]
    assert not edits.is_overtaken(2, 1), "nothing is known of it"


def test_so_many_versions_are_remembered_the_latest_ones() -> None:
    edits = NewestVersions[int]()
    with patch("troupe.actors.broadcast.broadcast.VERSIONS_REMEMBERED", 2):
        for key in (1, 2, 1, 3):
            edits.note(key, 7)
    assert [edits.is_overtaken(key, 6) for key in (1, 2, 3)] == [True, False, True]
