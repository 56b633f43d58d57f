"""The facts about the running server for staff. Supervision, which this room can't import, hands it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

# A part of the supervision tree: its name, its state, what else it says, and the parts under it.
TreePart = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the supervision log. Its number is the higher the later it was written."""

    number: int
    time: datetime
    level: str
    event: str
    facts: Mapping[str, object]


class ServerOperations(Protocol):
    """The server from the outside."""

    def tree(self) -> TreePart:
        """Return the supervision tree."""
        ...

    def records(self) -> Sequence[LogRecord]:
        """Return the newest records of the log that are held in memory, the oldest first."""
        ...

    def without_texts(self, text: str) -> str:
        """Return the text of an error without data of people."""
        ...


class Unsupervised:
    """A server without supervision: that of a test."""

    def tree(self) -> TreePart:
        return {"name": "troupe", "children": []}

    def records(self) -> Sequence[LogRecord]:
        return ()

    def without_texts(self, text: str) -> str:
        return text
