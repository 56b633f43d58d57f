"""`make release` and `make dist`, in a copy of the repository."""

import gzip
import os
import re
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version

import troupe

from ..end_to_end.installing import install
from . import making
from .builds import Built
from .changelog import FILE
from .contents import require_whole
from .making import make, publish, rebuild, sums
from .refusal import ReleaseRefused
from .repository import Repository

CHANGES = "# Changelog\n\n## Unreleased\n\n### Added\n\n- Tea.\n"
AT = Version(troupe.__version__)
NEXT = f"{AT.major}.{AT.minor + 1}.0"
PATIENCE = 300


@dataclass(frozen=True)
class Clone:
    """A clone with what `make` needs, and a bare repository that it was pushed to."""

    folder: Path
    remote: Path

    @property
    def repository(self) -> Repository:
        return Repository(self.folder)

    def git(self, *words: str) -> str:
        return self.repository.git(*words)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)

    def make(self, *words: str) -> subprocess.CompletedProcess[str]:
        # A make of our own: what runs the tests may be one, and would pass its options on.
        own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        return subprocess.run(
            ("make", *words), cwd=self.folder, env=own, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def state(self) -> tuple[object, ...]:
        """Return everything that a refused release must leave as it was."""
        return (
            self.git("for-each-ref"),
            self.git("rev-parse", "HEAD"),
            self.git("status", "--porcelain", "--untracked-files=all"),
            self.git("worktree", "list"),
            sorted(path.name for path in self.folder.glob("dist/*")),
            [(self.folder / name).read_text() for name in ("CHANGELOG.md", "__init__.py")],
        )


Setup = Callable[[Clone], None]
#: What makes a clone unready for a release, the version that is asked for, and what is said then.
UNREADY: dict[str, tuple[Setup, str, str]] = {}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    folder, remote = tmp_path_factory.mktemp("clone") / "troupe", tmp_path_factory.mktemp("remote")
    install(folder)
    (folder / ".venv" / ".test").touch()
    (folder / FILE).write_text(CHANGES)
    made = Clone(folder, remote)
    subprocess.run(("git", "init", "--quiet", "--bare", remote), check=True)
    subprocess.run(("git", "init", "--quiet", "--initial-branch", "main"), cwd=folder, check=True)
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.org")
    made.git("remote", "add", "origin", str(remote))
    made.commit("The source")
    made.git("push", "--quiet", "--set-upstream", "origin", "main")
    made.git("branch", "start")
    return made


@pytest.fixture
def fresh(clone: Clone) -> Iterator[Clone]:
    """The clone, as it was at the start after the test."""
    yield clone
    clone.git("switch", "--quiet", "--force", "--detach", "start")
    for tag in clone.git("tag", "--list").split():
        clone.git("tag", "--delete", tag)
    clone.git("switch", "--quiet", "-C", "main", "start")
    clone.git("branch", "--quiet", "--set-upstream-to", "origin/main")
    clone.git("update-ref", "refs/remotes/origin/main", "start")
    clone.git("clean", "-dfq")


def test_a_release_is_two_commits_a_tag_and_files_that_are_built_twice_and_equal(fresh: Clone) -> None:
    pushed = Repository(fresh.remote).git("for-each-ref")
    done = fresh.make("release", f"VERSION={NEXT}")
    assert done.returncode == 0, done.stderr
    assert f"git push --atomic origin main v{NEXT}" in done.stdout
    assert Repository(fresh.remote).git("for-each-ref") == pushed

    assert fresh.git("log", "--format=%s", "start..main").splitlines() == [
        f"Begin the changes after {NEXT}", f"Release {NEXT}",
    ]  # fmt: skip
    assert fresh.git("cat-file", "-t", f"v{NEXT}") == "tag"
    assert fresh.git("rev-parse", f"v{NEXT}^{{commit}}") == fresh.git("rev-parse", "main~1")
    assert (fresh.git("status", "--porcelain"), fresh.git("worktree", "list").count("\n")) == ("", 0)
    assert fresh.git("diff", "--name-only", "start..main").split() == ["CHANGELOG.md", "__init__.py"]

    day = fresh.git("log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d", "main~1")
    titles = ["# Changelog", "", f"## {NEXT} - {day}", "", "### Added", "", "- Tea."]
    assert fresh.git("show", f"v{NEXT}:{FILE}").splitlines() == titles
    assert fresh.git("show", f"main:{FILE}").splitlines() == [*titles[:2], "## Unreleased", "", *titles[2:]]
    assert f'__version__ = "{NEXT}"' in fresh.git("show", f"v{NEXT}:__init__.py")
    assert f'__version__ = "{NEXT}+dev"' in (fresh.folder / "__init__.py").read_text()

    built = Built(*(fresh.folder / "dist" / f"troupe_server-{NEXT}{end}" for end in ("-py3-none-any.whl", ".tar.gz")))
    summed = subprocess.run(
        ("sha256sum", *(path.name for path in built.files)), cwd=fresh.folder / "dist", capture_output=True, check=True
    )
    assert fresh.git("tag", "--list", "--format=%(contents)", f"v{NEXT}") == (
        f"Troupe {NEXT}\n\n{summed.stdout.decode().strip()}"
    )
    looks_the_same_wherever_it_was_built(built, fresh.repository.date("main~1"))
    what_lacks_a_file_or_has_one_too_many_is_refused(built, fresh.repository)

    again = fresh.state()
    refused = fresh.make("release", f"VERSION={NEXT}")
    assert (refused.returncode, f"{NEXT} is tagged already" in refused.stderr) == (2, True)
    assert fresh.state() == again
    for path in built.files:
        path.unlink()


def looks_the_same_wherever_it_was_built(built: Built, date: int) -> None:
    """Assert that neither file says when, by whom and with which umask it was built."""
    with zipfile.ZipFile(built.wheel) as wheel:
        assert len({(info.date_time, info.external_attr) for info in wheel.infolist()}) == 1
        assert wheel.infolist()[0].external_attr == 0o100644 << 16
    with tarfile.open(built.source) as archive:
        found = {(info.mtime, info.uid, info.gid, info.uname, info.gname) for info in archive.getmembers()}
        assert found == {(date, 0, 0, "", "")}
        assert {info.mode for info in archive.getmembers()} == {0o644, 0o755}
        assert archive.getmember(f"troupe_server-{NEXT}/.ci/venv").mode == 0o755
    with gzip.open(built.source) as packed:
        packed.peek(1)
        assert packed.mtime == date


def what_lacks_a_file_or_has_one_too_many_is_refused(built: Built, repository: Repository) -> None:
    """Assert that the files are compared with those of the commit, in both directions and by content."""
    tracked = {file.name: file.content for file in repository.tree(f"v{NEXT}")}
    for name in ("actors/push/texts/new.txt", "storage/migrations/9999_new.sql", "supervision/operations/new.service"):
        with pytest.raises(ReleaseRefused, match=f"whl lacks troupe/{name}"):
            require_whole(built, {**tracked, name: b""}, Version(NEXT))
    with pytest.raises(ReleaseRefused, match=r"tar\.gz lacks tests/http/new\.dat\."):
        require_whole(built, {**tracked, "tests/http/new.dat": b""}, Version(NEXT))
    without = {name: content for name, content in tracked.items() if name != "storage/bookmarks.py"}
    with pytest.raises(ReleaseRefused, match=r"whl has, and should not have troupe/storage/bookmarks\.py\."):
        require_whole(built, without, Version(NEXT))
    with pytest.raises(ReleaseRefused, match=r"whl has with another content troupe/py\.typed\."):
        require_whole(built, {**tracked, "py.typed": b"partial"}, Version(NEXT))
    with pytest.raises(ReleaseRefused, match=r"lacks the licence"):
        require_whole(built, {**tracked, "LICENSE": b"another"}, Version(NEXT))


def unready(name: str, said: str, version: str = NEXT) -> Callable[[Setup], Setup]:
    """Mark a function that makes a clone unready for a release, and what is then said."""

    def mark(setup: Setup) -> Setup:
        UNREADY[name] = (setup, version, said)
        return setup

    return mark


@unready("a changed file", "Commit or remove these files first:\n M README.md")
def _(clone: Clone) -> None:
    (clone.folder / "README.md").write_text("Soup")


@unready("a new file", "Commit or remove these files first:\n?? storage/soup.py")
def _(clone: Clone) -> None:
    (clone.folder / "storage" / "soup.py").write_text("")


@unready("another branch", "Releases are made on main, and this is soup: git switch main")
def _(clone: Clone) -> None:
    clone.git("switch", "--quiet", "--create", "soup")


@unready("no branch", "Releases are made on main, and this is HEAD")
def _(clone: Clone) -> None:
    clone.git("switch", "--quiet", "--detach")


@unready("commits of others that are missing", "main lacks commits: refs/remotes/origin/main [behind 1]")
def _(clone: Clone) -> None:
    clone.commit("Soup")
    clone.git("update-ref", "refs/remotes/origin/main", "HEAD")
    clone.git("reset", "--quiet", "--hard", "HEAD~1")


@unready("a clock that is behind", "The last commit is of the future.")
def _(clone: Clone) -> None:
    tomorrow = {"GIT_COMMITTER_DATE": f"{int(time.time()) + 86_400} +0000"}
    words = ("git", "commit", "--quiet", "--allow-empty", "--message", "Soup")
    subprocess.run(words, cwd=clone.folder, env={**os.environ, **tomorrow}, check=True)


@unready("nothing to tell", "CHANGELOG.md has nothing below `## Unreleased`")
def _(clone: Clone) -> None:
    (clone.folder / FILE).write_text("# Changelog\n\n## Unreleased\n\n## 0.0.1 - 2026-01-02\n\n- Soup.\n")
    clone.commit("Soup")


@unready("a changelog of another shape", "CHANGELOG.md: the parts of `## Unreleased` are not among Upgrading, Added,")
def _(clone: Clone) -> None:
    (clone.folder / FILE).write_text("# Changelog\n\n## Unreleased\n\n### Soup\n\n- Tea.\n")
    clone.commit("Soup")


@unready("a version that is tagged", f"{NEXT} is tagged already")
def _(clone: Clone) -> None:
    clone.git("tag", f"v{NEXT}")


@unready("a version that is no version", "'soup' is no version (PEP 440)", "soup")
@unready("no version", "Missing argument 'VERSION=0.2.0'", "")
def _(clone: Clone) -> None:
    pass


@unready("a commit that is refused", "git commit failed: Soup is missing")
def _(clone: Clone) -> None:
    hook = clone.folder / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\nrm "$0"; echo Soup is missing >&2; exit 1\n')
    hook.chmod(0o755)


@unready("another setuptools than the locked one", "is installed, and requirements.lock names 1.2.3: make clean")
def _(clone: Clone) -> None:
    lock = clone.folder / "requirements.lock"
    lock.write_text(re.sub(r"(?m)^setuptools==\S+", "setuptools==1.2.3", lock.read_text()))
    clone.commit("Soup")
    for stamp in (".made", ".run", ".test"):
        (clone.folder / ".venv" / stamp).touch()


@pytest.mark.parametrize("name", UNREADY)
def test_a_release_is_refused_and_nothing_has_changed(fresh: Clone, name: str) -> None:
    setup, version, said = UNREADY[name]
    setup(fresh)
    before = fresh.state()
    refused = fresh.make("release", f"VERSION={version}")
    assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    assert fresh.state() == before


def test_a_source_archive_makes_no_release(fresh: Clone, tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="is no clone of the repository"):
        make(Repository(tmp_path), NEXT)


def test_a_release_that_can_not_be_put_on_the_branch_is_undone(fresh: Clone, tmp_path: Path) -> None:
    built = Built(tmp_path / "a.whl", tmp_path / "a.tar.gz")
    for path in built.files:
        path.write_bytes(b"")
    start = fresh.git("rev-parse", "main")
    fresh.commit("A commit of somebody else")
    before = fresh.state()
    side = fresh.git("commit-tree", "main^{tree}", "-p", start, "-m", "Release")
    with pytest.raises(ReleaseRefused, match="git merge failed"):
        publish(fresh.repository, f"v{NEXT}", side, side, built)
    assert fresh.state() == before


def test_the_files_of_a_commit_are_built_again_and_compared_with_its_tag(
    fresh: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = Built(tmp_path / "a.whl", tmp_path / "a.tar.gz")
    for path in built.files:
        path.write_bytes(b"tea")

    def built_before(repository: Repository, commit: str, version: Version) -> nullcontext[Built]:
        return nullcontext(built)

    monkeypatch.setattr(making, "built_twice", built_before)
    fresh.git("tag", "--annotate", "--message", f"Troupe\n\n{sums(built.files)}", f"v{AT.base_version}")
    before = fresh.state()
    assert [path.read_bytes() for path in rebuild(fresh.repository, f"v{AT.base_version}")] == [b"tea", b"tea"]
    for path in fresh.folder.glob("dist/*"):
        path.unlink()
    built.source.write_bytes(b"soup")
    with pytest.raises(ReleaseRefused, match=r"a\.tar\.gz$"):
        rebuild(fresh.repository, f"v{AT.base_version}")
    with pytest.raises(ReleaseRefused, match="git rev-parse failed"):
        rebuild(fresh.repository, "v9.9.9")
    assert fresh.state() == before
