"""The greeting that an operator reads on standard output when the server is up."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ..actors.configuration import ServerSettings


def greeting(settings: ServerSettings, *, has_accounts: bool) -> str:
    """Return where the server listens and, as long as there is no account, the command that makes the first account."""
    where = f"Troupe is at {settings.base_url} (listening on {settings.listening}; data in {settings.data}).\n"
    if has_accounts:
        return where
    folder = "" if settings.data == Path("data").absolute() else f" --data {settings.data}"
    config = f" --config {chosen}" if (chosen := _config()) else ""
    return (
        f"{where}The first account, from another terminal:\n"
        f"  {_called()} accounts create NAME --email E --password P --role owner --confirmed --approved"
        f"{config}{folder}\n"
    )


def _called() -> str:
    """Return the command that calls this program again: its name if the shell finds it, else its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and called.exists() and called.samefile(found) else str(called)


def _config() -> str:
    """Return the file that was chosen on the command line: it may name the database. Nothing if none was."""
    words = iter(sys.argv)
    for word in words:
        if word.startswith("--config"):
            return word.partition("=")[2] or next(words, "")
    return ""
