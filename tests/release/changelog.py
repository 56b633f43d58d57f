"""The changelog, in the shape of https://keepachangelog.com: a section for each version, the newest first.

A section is for operators and for developers of clients. Its parts have the names of `PARTS`, in this order.
`Upgrading` says what has to be done or known before the version is installed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from .refusal import ReleaseRefused
from .versions import SPELLING

FILE = "CHANGELOG.md"
UNRELEASED = "Unreleased"
PARTS = ("Upgrading", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
TITLE = re.compile(r"^## (.*)$", re.MULTILINE)
DATED = re.compile(rf"({SPELLING}) - (\d{{4}}-\d{{2}}-\d{{2}})")
PART = re.compile(r"^### (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """The text below a title. Without a version, it is of what is not released yet."""

    version: Version | None
    released: date | None
    text: str

    @property
    def parts(self) -> Sequence[tuple[str, str]]:
        """The parts with their names and texts."""
        names = PART.findall(self.text)
        return list(zip(names, PART.split(self.text)[2::2], strict=True))


def sections(changelog: str) -> Sequence[Section]:
    """Return the sections in their order. Raises ReleaseRefused for a changelog of another shape."""
    split = TITLE.split(changelog)[1:]
    found = [_section(title, text) for title, text in zip(split[::2], split[1::2], strict=True)]
    versions = [section.version for section in found if section.version]
    if any(section.version is None for section in found[1:]):
        raise ReleaseRefused(f"{FILE}: `## {UNRELEASED}` stands before all versions, once.")
    if versions != sorted(set(versions), reverse=True):
        raise ReleaseRefused(f"{FILE}: its versions are not in order, the newest first.")
    return found


def released(changelog: str, version: Version, today: date) -> str:
    """Return the changelog with the changes that were not released as those of a version.

    Raises ReleaseRefused if there are none.
    """
    found = sections(changelog)
    if not found or found[0].version is not None:
        raise ReleaseRefused(f"{FILE} has no section `## {UNRELEASED}`.")
    if not re.search(r"^- \S", found[0].text, re.MULTILINE):
        raise ReleaseRefused(f"{FILE} has nothing below `## {UNRELEASED}`: say what operators have to know of it.")
    return changelog.replace(f"## {UNRELEASED}\n", f"## {version} - {today.isoformat()}\n", 1)


def begun(changelog: str) -> str:
    """Return the changelog with an empty section for the changes after a version."""
    return TITLE.sub(lambda title: f"## {UNRELEASED}\n\n{title[0]}", changelog, count=1)


def _section(title: str, text: str) -> Section:
    version, released = None, None
    if title != UNRELEASED:
        found = DATED.fullmatch(title)
        try:
            version, released = (Version(found[1]), date.fromisoformat(found[2])) if found else (None, None)
        except ValueError:
            version = None
        if version is None:
            raise ReleaseRefused(f"{FILE}: `## {title}` is not `## VERSION - YYYY-MM-DD`.")
    section = Section(version, released, text)
    names = [name for name, _ in section.parts]
    if names != [name for name in PARTS if name in names]:
        raise ReleaseRefused(f"{FILE}: the parts of `## {title}` are not among {', '.join(PARTS)}, in this order.")
    if empty := [name for name, inside in section.parts if not inside.strip()]:
        raise ReleaseRefused(f"{FILE}: `### {empty[0]}` of `## {title}` is empty.")
    return section
