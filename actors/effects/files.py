"""Removing files of the media folder that no row names any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out


@dataclass(frozen=True, slots=True)
class RemoveFiles(Effect):
    """Remove the files with these names."""

    names: tuple[str, ...]


def files_unused(names: Iterable[str]) -> Promise:
    """Promise to remove files. The turn wakes the outbox after its commit, and never removes them itself."""
    return Promise(RemoveFiles(tuple(sorted(names))))


@carries_out("files", RemoveFiles, ANNOUNCEMENTS)
async def remove_files(context: EffectContext, effect: RemoveFiles, attempt: Attempt) -> None:
    if context.remove_files is not None:
        await context.remove_files(effect.names)
