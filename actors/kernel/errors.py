"""The errors that an asker can get instead of an answer.

KernelError
├── Refused       the protocol says no: a status and a text for the client (HTTP: as it says)
├── AskCycle      the ask would wait for itself; a bug, refused at once (HTTP: 500)
├── Superseded    the turn was abandoned and may write nothing more; never reaches an asker
└── NotAnswered   no answer this time, asking again later is right (HTTP: 503 with Retry-After)
    ├── Busy          the mailbox is full
    ├── Crashed       the actor failed on this message, or was restarted under it
    ├── Quarantined   the actor failed too often and rests
    ├── TimedOut      the deadline passed; whether the turn took place is not known
    ├── OwnerLost     the process of the actor has ended or can't be reached; the same is not known
    ├── Stopping      the process is shutting down
    └── Incomplete    this node may have missed a change (`actors/cluster/others.py`)
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping


class KernelError(Exception):
    """The base of every error that an `ask` raises by itself."""


class Refused(KernelError):
    """A refusal that belongs to the protocol. A turn returns it; `ask` raises it.

    `status` is the HTTP status code, `text` the sentence that the client sees, `details` the errors of a form by
    attribute.
    """

    def __init__(self, status: int, text: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text
        self.details = details

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused) and (self.args, self.details) == (other.args, other.details)

    def __hash__(self) -> int:
        return hash(self.args)


class AskCycle(KernelError):
    """Raised when an actor asks, directly or through others, an actor that waits for it."""


class Superseded(KernelError):
    """Raised in a turn that was abandoned because it took too long. A later incarnation of its actor owns the rows."""


class NotAnswered(KernelError):
    """Raised when there is no answer now. The asker may try again after `retry_after` seconds."""

    retry_after: int = 1


class Busy(NotAnswered):
    """Raised when the mailbox is full."""


class Crashed(NotAnswered):
    """Raised when the actor crashed in this turn and was restarted from rows."""


class Quarantined(NotAnswered):
    """Raised when the actor crashed too often and takes no messages for a while."""

    retry_after = 60


class TimedOut(NotAnswered):
    """Raised when the deadline passed before the answer."""


class OwnerLost(NotAnswered):
    """Raised when the process that owns the actor ended before it answered, or has no successor yet."""


class Stopping(NotAnswered):
    """Raised when the process is shutting down."""

    retry_after = 5


def describe(error: BaseException) -> str:
    """Return the class and the text of an error, as logs give them."""
    return f"{type(error).__name__}: {error}"


def place(error: BaseException) -> str:
    """Return `file:line` of the innermost frame of an error's traceback; empty for an error that was never raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
