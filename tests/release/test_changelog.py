"""The changelog, and its shape."""

from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from .changelog import FILE, begun, released, sections
from .refusal import ReleaseRefused

ROOT = Path(__file__).parents[2]
LONGEST = 120
CHANGELOG = """# Changelog

## Unreleased

### Upgrading

- Pour the tea away.

### Fixed

- Tea.

## 0.2.0 - 2026-11-28

### Added

- Soup.

## 0.1.0 - 2026-01-02

### Added

- Bread.
"""


def test_the_changelog_has_the_shape_that_a_release_needs() -> None:
    text = (ROOT / FILE).read_text("utf-8")
    assert sections(text), "there is no section"
    assert [line for line in text.splitlines() if len(line) > LONGEST] == []


def test_sections_have_versions_dates_and_parts() -> None:
    unreleased, newest, oldest = sections(CHANGELOG)
    assert (unreleased.version, [name for name, _ in unreleased.parts]) == (None, ["Upgrading", "Fixed"])
    assert (newest.version, newest.released) == (Version("0.2.0"), date(2026, 11, 28))
    assert oldest.parts == [("Added", "\n\n- Bread.\n")]


def test_a_release_dates_what_was_not_released_and_a_new_section_is_begun() -> None:
    dated = released(CHANGELOG, Version("0.2.1"), date(2026, 12, 1))
    assert dated == CHANGELOG.replace("## Unreleased", "## 0.2.1 - 2026-12-01")
    assert begun(dated) == CHANGELOG.replace("## Unreleased", "## Unreleased\n\n## 0.2.1 - 2026-12-01")
    assert sections(begun(dated))[0].text.strip() == ""


@pytest.mark.parametrize("old", ["### Upgrading\n\n- Pour the tea away.\n\n### Fixed\n\n- Tea.\n\n", "## Unreleased\n"])
def test_a_release_without_changes_is_refused(old: str) -> None:
    with pytest.raises(ReleaseRefused, match=r"nothing below|no section"):
        released(CHANGELOG.replace(old, ""), Version("0.2.1"), date(2026, 12, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## Unreleased", "## Soon"),
        ("0.2.0 - 2026-11-28", "0.2.0"),
        ("0.2.0 - 2026-11-28", "0.2.0 - 28.11.2026"),
        ("0.2.0 - 2026-11-28", "0.2.0 - 2026-11-31"),
        ("0.2.0 - 2026-11-28", "v0.2.0 - 2026-11-28"),
        ("0.2.0 - 2026-11-28", "0.0.9 - 2026-11-28"),
        ("0.2.0 - 2026-11-28", "0.1.0 - 2026-11-28"),
        ("0.2.0 - 2026-11-28", "Unreleased"),
        ("### Fixed", "### Repaired"),
        ("### Fixed", "### Upgrading"),
        ("### Upgrading", "### Security"),
        ("- Soup.", ""),
    ],
)
def test_another_shape_is_refused(old: str, new: str) -> None:
    assert old in CHANGELOG
    with pytest.raises(ReleaseRefused, match=FILE):
        sections(CHANGELOG.replace(old, new))
