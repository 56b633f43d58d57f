"""The mark of a run: a file in the data folder while a node runs. If its next start finds it, the run ended badly."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ...storage.engine.node import this_node


def begin_run(data: Path, node: str) -> str:
    """Write the node's mark. Return the process of the run before if it has left its mark, else an empty text."""
    mark = _mark(data, node)
    before = ""
    # The mark is for the log alone: a full disk does not prevent the start.
    with suppress(OSError):
        if mark.exists():
            before = mark.read_text("utf-8").strip() or "unknown"
        with open(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(f"{this_node()}\n")
            file.flush()
            os.fsync(file.fileno())
    return before


def end_run(data: Path, node: str) -> None:
    """Remove the mark: the run has ended in order."""
    with suppress(OSError):
        _mark(data, node).unlink()


def _mark(data: Path, node: str) -> Path:
    return data / f"running-{node}"
