"""The folder of the operator's texts, for the commands that change its files."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ...storage.policies import UnusablePolicies
from .acting import NotDone
from .options import settings_from


def texts_folder(config: Path | None, data: str | None) -> Path:
    """Return the folder, which need not exist."""
    return settings_from(config, data=data).data / "texts"


@contextmanager
def reading() -> Generator[None]:
    """Refuse the command if a file can't be used, which the block reads."""
    try:
        yield
    except UnusablePolicies as error:
        raise NotDone(f"{error}. Correct the file first.") from None


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """Refuse the command if a file can't be written as the block wants it."""
    try:
        yield
    except UnusablePolicies as error:
        raise NotDone(f"{error}.") from None
    except OSError as error:
        raise NotDone(f"{folder} can't be written: {error.strerror}.") from None
