"""Copies of data folders, for tests that need a PostgreSQL of their own and are not about how it is made."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def copy_data(source: Path, target: Path) -> None:
    """Copy a data folder whose PostgreSQL does not run. The owners of its files stay the same."""
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)


@contextmanager
def passable_folder() -> Generator[Path]:
    """A folder for a while. Root's PostgreSQL runs as another user, who has to pass through it."""
    with TemporaryDirectory(prefix="troupe-test-", ignore_cleanup_errors=True) as path:
        Path(path).chmod(0o755)
        yield Path(path)
