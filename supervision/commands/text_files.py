"""The folder of the operator's texts, for the commands that change its files."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...actors.configuration import ServerSettings
from ...storage.operator_texts import UnusableTexts
from .refusals import CommandRefused

NO_HINTS: Mapping[int, str] = {}


def texts_folder(settings: ServerSettings) -> Path:
    """Return the folder, which need not exist."""
    return settings.data / "texts"


@contextmanager
def reading() -> Generator[None]:
    """Refuse the command if a file can't be used, which the block reads."""
    try:
        yield
    except UnusableTexts as error:
        raise CommandRefused(f"{error}. Correct the file first.") from None


@contextmanager
def refusing(hints: Mapping[int, str] = NO_HINTS) -> Generator[None]:
    """Refuse the command if the act in the block is refused. `hints` say what to do, by the status of the refusal."""
    from ...actors.kernel.errors import Refused

    try:
        yield
    except Refused as refused:
        hint = hints.get(refused.status)
        raise CommandRefused(refused.text if hint is None else f"{refused.text} {hint}") from None
