"""Removing files of the media folder that no row names any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..kernel import Origin
from .registry import Effect, EffectContext, Promise, carries_out


@dataclass(frozen=True, slots=True)
class RemoveFiles(Effect):
    """Remove the files with these names."""

    names: tuple[str, ...]


def files_unused(names: Iterable[str]) -> Promise:
    """Promise to remove files. The turn wakes the outbox after its commit, and never removes them itself."""
    return Promise(RemoveFiles(tuple(sorted(names))))


@carries_out("files", RemoveFiles)
async def remove_files(context: EffectContext, effect: RemoveFiles, origin: Origin) -> None:
    if context.remove_files is not None:
        await context.remove_files(effect.names)
