"""Versions: where the version stands, and which one may come next.

A version is `0.2.0`, or `0.2.0rc1` for a candidate. `0.2.0+dev` is a state of the source after 0.2.0: it is newer than
0.2.0 and older than 0.2.1, and no package index takes it.
"""

import re
from collections.abc import Collection, Set

from packaging.version import InvalidVersion, Version

from .refusal import ReleaseRefused

FILE = "__init__.py"
LINE = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
AFTER = "+dev"
#: The spelling of a version, in the title of its section of the changelog and, after a `v`, in its tag.
SPELLING = r"\d+\.\d+\.\d+(?:rc\d+)?"


def version_of(source: str) -> str:
    """Return the version that the text of `FILE` states."""
    found = LINE.findall(source)
    if len(found) != 1:
        raise ReleaseRefused(f"{FILE} states {len(found)} versions in place of one.")
    return found[0]


def with_version(source: str, version: str) -> str:
    """Return the text of `FILE` with another version."""
    return LINE.sub(f'__version__ = "{version}"', source)


def next_version(text: str, current: str, tagged: Collection[Version]) -> Version:
    """Return the version that a text names. Raises ReleaseRefused if it can't follow the current and tagged ones.

    `0.2.0+dev` says that 0.2.0 was made, also in a clone without tags.
    """
    if (at := Version(current)).local:
        tagged = [*tagged, Version(at.public)]
    try:
        version = Version(text)
    except InvalidVersion:
        raise ReleaseRefused(f"{text!r} is no version (PEP 440). Write it as 0.2.0, or 0.2.0rc1.") from None
    if not re.fullmatch(SPELLING, str(version)):
        raise ReleaseRefused(f"{text} is not three numbers. Write it as 0.2.0, or 0.2.0rc1.")
    if str(version) != text:
        raise ReleaseRefused(f"{text} is not the usual spelling of this version. Write it as {version}.")
    if version in tagged:
        raise ReleaseRefused(f"{version} is tagged already. A version is never made twice.")
    if tagged and version < max(tagged):
        raise ReleaseRefused(f"{version} is older than {max(tagged)}, which is tagged.")
    allowed = _followers(at, tagged)
    if version.release not in allowed:
        names = ", ".join(".".join(map(str, numbers)) for numbers in sorted(allowed))
        raise ReleaseRefused(f"{version} does not follow. The next version is one of {names}, or a candidate of one.")
    return version


def _followers(current: Version, tagged: Collection[Version]) -> Set[tuple[int, ...]]:
    """Return the numbers of versions that may come next. Before the first version, the current one is among them."""
    final = [version for version in tagged if not version.is_prerelease]
    last = max(final, default=current)
    major, minor, patch = last.release
    bumped = {(major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0)}
    return bumped if final else bumped | {last.release}
