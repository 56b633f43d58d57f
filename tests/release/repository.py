"""The repository that a release is made in."""

import io
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from .refusal import ReleaseRefused
from .versions import SPELLING

BRANCH = "main"
TAG = re.compile(rf"v?{SPELLING}")


@dataclass(frozen=True)
class TrackedFile:
    name: str
    content: bytes
    is_executable: bool


class Repository:
    """Calls git in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *words: str) -> str:
        """Return what a command of git prints. Raises ReleaseRefused with its error if it fails."""
        return self.git_bytes(*words).decode().rstrip()

    def git_bytes(self, *words: str) -> bytes:
        done = subprocess.run(("git", *words), cwd=self.folder, capture_output=True, check=False)
        if done.returncode != 0:
            raise ReleaseRefused(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def require_ready(self) -> None:
        """Raise ReleaseRefused if a release of this state would not be what everybody else has."""
        if not (self.folder / ".git").exists():
            raise ReleaseRefused(
                f"{self.folder} is no clone of the repository. A release is a commit and a tag in one."
            )
        if (branch := self.git("rev-parse", "--abbrev-ref", "HEAD")) != BRANCH:
            raise ReleaseRefused(f"Releases are made on {BRANCH}, and this is {branch}: git switch {BRANCH}")
        if changed := self.git("status", "--porcelain", "--untracked-files=normal"):
            raise ReleaseRefused(f"Commit or remove these files first:\n{changed}")
        state = self.git("for-each-ref", "--format=%(upstream) %(upstream:track)", f"refs/heads/{BRANCH}")
        if "behind" in state:
            raise ReleaseRefused(f"{BRANCH} lacks commits: {state}. Run git pull --ff-only")
        if time.time() < self.date("HEAD"):
            raise ReleaseRefused("The last commit is of the future. Correct the clock of this machine.")

    def versions(self) -> Mapping[Version, str]:
        """Return the tagged versions with their tags."""
        tags = [tag for tag in self.git("tag", "--list").split() if TAG.fullmatch(tag)]
        return {Version(tag): tag for tag in tags}

    @contextmanager
    def worktree(self) -> Generator["Repository"]:
        """Yield a second checkout of the same commit. What is committed there is on no branch."""
        with tempfile.TemporaryDirectory(prefix="troupe-release-") as parent:
            folder = Path(parent) / "tree"
            self.git("worktree", "add", "--quiet", "--detach", str(folder), "HEAD")
            try:
                yield Repository(folder)
            finally:
                self.git("worktree", "remove", "--force", str(folder))

    def commit(self, message: str, texts: Mapping[str, str]) -> str:
        """Commit new texts of files. Return the commit."""
        for name, text in texts.items():
            (self.folder / name).write_text(text, "utf-8")
        self.git("commit", "--quiet", "--message", message, "--", *texts)
        return self.git("rev-parse", "HEAD")

    def read(self, name: str, commit: str = "HEAD") -> str:
        """Return the text of a file in a commit."""
        return self.git_bytes("show", f"{commit}:{name}").decode()

    def tree(self, commit: str) -> Sequence[TrackedFile]:
        """Return the files of a commit, with the ends of lines that they have there."""
        tar = self.git_bytes("-c", "core.autocrlf=false", "-c", "core.eol=lf", "archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            return [
                TrackedFile(member.name, content.read(), bool(member.mode & 0o100))
                for member in archive.getmembers()
                if (content := archive.extractfile(member)) is not None
            ]

    def date(self, commit: str) -> int:
        """Return the time of a commit, in seconds."""
        return int(self.git("log", "-1", "--format=%ct", commit))
