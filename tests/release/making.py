"""The making of a release: a commit is built, looked into, tagged and put on the branch, or nothing has changed."""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path

import click
from packaging.version import Version

from . import changelog, versions
from .builds import ELSEWHERE, HERE, Built, build, build_wheel, require_equal, unpack_source
from .contents import require_runs, require_whole
from .refusal import ReleaseRefused
from .repository import Repository


@contextmanager
def built_twice(repository: Repository, commit: str, version: Version) -> Generator[Built]:
    """Yield the wheel and the source archive of a commit, built in two surroundings, looked into and started.

    Raises ReleaseRefused if the builds differ, or if the source archive is built into another wheel.
    """
    _require_locked_builder(repository.read("requirements.lock", commit))
    click.echo(f"Building {version} twice …", err=True)
    with tempfile.TemporaryDirectory(prefix="troupe-builds-") as name, ThreadPoolExecutor() as threads:
        folder = Path(name)
        building = threads.submit(build, repository, commit, folder / "second build", ELSEWHERE)
        first = build(repository, commit, folder / "first", HERE)
        require_whole(first, {file.name: file.content for file in repository.tree(commit)}, version)
        require_runs(first.wheel, version)
        for one, other in zip(first.files, building.result().files, strict=True):
            require_equal(one, other)
        tree = unpack_source(first.source, folder / "unpacked")
        require_equal(first.wheel, build_wheel(tree, folder / "of the source", repository.date(commit)))
        yield first


def make(repository: Repository, text: str) -> tuple[Version, Sequence[Path]]:
    """Make the version that a text names. Return it with its files.

    The commits are made in a second checkout. The branch moves to them when all checks have passed.
    """
    repository.require_ready()
    source, changes = repository.read(versions.FILE), repository.read(changelog.FILE)
    version = versions.next_version(text, versions.version_of(source), repository.versions())
    dated = changelog.released(changes, version, datetime.now(UTC).date())
    with repository.worktree() as tree:
        released = {versions.FILE: versions.with_version(source, str(version)), changelog.FILE: dated}
        commit = tree.commit(f"Release {version}", released)
        later = versions.with_version(source, f"{version}{versions.AFTER}")
        following = {versions.FILE: later, changelog.FILE: changelog.begun(dated)}
        head = tree.commit(f"Begin the changes after {version}", following)
        with built_twice(repository, commit, version) as built:
            return version, publish(repository, f"v{version}", commit, head, built)


def publish(repository: Repository, tag: str, commit: str, head: str, built: Built) -> Sequence[Path]:
    """Tag a commit, move the branch to `head`, and put the files into dist/. If any of it fails, all is undone."""
    with ExitStack() as undo:
        parts = copied(repository, built, undo)
        message = f"Troupe {tag.removeprefix('v')}\n\n{sums(built.files)}"
        repository.git("tag", "--annotate", "--cleanup=verbatim", "--message", message, tag, commit)
        undo.callback(repository.git, "tag", "--delete", tag)
        repository.git("merge", "--quiet", "--ff-only", head)
        undo.pop_all()
    return finished(parts)


def rebuild(repository: Repository, revision: str) -> Sequence[Path]:
    """Put the files of a commit into dist/. Raises ReleaseRefused if its tag has other sums."""
    commit = repository.git("rev-parse", "--verify", f"{revision}^{{commit}}")
    version = Version(versions.version_of(repository.read(versions.FILE, commit)))
    with built_twice(repository, commit, version) as built:
        tag = repository.versions().get(version)
        if tag and repository.git("rev-parse", f"{tag}^{{commit}}") == commit:
            _require_sums(repository.git("tag", "--list", "--format=%(contents)", tag), built.files)
        with ExitStack() as undo:
            parts = copied(repository, built, undo)
            undo.pop_all()
    return finished(parts)


def copied(repository: Repository, built: Built, undo: ExitStack) -> Sequence[Path]:
    """Return copies in dist/, under names that say that they are not finished. Other files there stay."""
    folder = repository.folder / "dist"
    folder.mkdir(exist_ok=True)
    parts = [folder / f"{path.name}.part" for path in built.files]
    for path, part in zip(built.files, parts, strict=True):
        undo.callback(part.unlink, missing_ok=True)
        shutil.copyfile(path, part)
    return parts


def finished(parts: Sequence[Path]) -> Sequence[Path]:
    """Give files the names that they have when they are finished."""
    return [part.rename(part.with_suffix("")) for part in parts]


def sums(files: Sequence[Path]) -> str:
    """Return the SHA-256 sums of files, as `sha256sum` prints them."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def _require_locked_builder(lock: str) -> None:
    """Raise ReleaseRefused if setuptools is another one than the lock file names: it would write other bytes."""
    (locked,) = re.findall(r"(?m)^setuptools==(\S+)", lock)
    if (found := installed_version("setuptools")) != locked:
        raise ReleaseRefused(f"setuptools {found} is installed, and requirements.lock names {locked}: make clean")


def _require_sums(message: str, files: Sequence[Path]) -> None:
    """Raise ReleaseRefused if the message of a tag does not have the sums of these files."""
    if missing := [line for line in sums(files).splitlines() if line not in message.splitlines()]:
        raise ReleaseRefused(
            "The files of the tag have other bytes. These were built here, with a zlib that may be another one:\n"
            + "\n".join(missing)
        )
