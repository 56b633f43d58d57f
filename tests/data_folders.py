"""Copies of data folders, for tests that need a PostgreSQL of their own and are not about how it is made."""

import subprocess
from pathlib import Path


def copy_data(source: Path, target: Path) -> None:
    """Copy a data folder whose PostgreSQL does not run. The owners of its files stay the same."""
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)
