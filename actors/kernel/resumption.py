"""The ids of events, from which a client that was interrupted resumes its stream.

Everything that streams are told of is written into a log of changes afterwards, in the order of `position`. An id says
how far a subscriber of a feed has come: a position, up to which it was shown everything, and the keys of what it was
shown besides, because that was not in the log yet when it was told. So an id is `POSITION` or `POSITION.KEY.KEY…`.

One number alone would not do. What is told at once, before it is logged, would be shown twice after a crash; and to
number changes inside of their transactions would let only one of these commit at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from .ids import instant_of_id

# How many keys one id has at most. Beyond it the oldest are left out: after a crash these may be shown again.
MOST_KEYS = 200
# Something that was shown without a telling is taken to be in the log when so many more are.
UNTOLD_FOR = 1000
LONGEST_ID = 8192  # characters: clients send ids back, and may send anything


@dataclass(frozen=True, slots=True)
class Telling:
    """The time when an event was told, and the telling; 0 if what it shows is in no log, or is told once more.

    Everything in the log up to `position` had been told before, and all tellings below `logged` were in the log.
    """

    position: int
    number: int
    logged: int

    def joined(self, later: Telling) -> Telling:
        """Return the highest of each of two tellings: they may arrive in another order."""
        if later.position >= self.position and later.number >= self.number and later.logged >= self.logged:
            return later
        return Telling(
            max(self.position, later.position), max(self.number, later.number), max(self.logged, later.logged)
        )


UNTOLD = Telling(0, 0, 0)


class Progress:
    """The progress of the subscribers of one feed."""

    __slots__ = ("_keys", "_last")

    def __init__(self) -> None:
        self._last = UNTOLD
        self._keys: dict[str, int] = {}  # of what was shown and may not be in the log: with the numbers of the tellings

    def after(self, telling: Telling, key: str) -> str:
        """Return the id of an event that is shown now. It is empty as long as nothing was told.

        What a restarted actor shows from rows has no telling.
        """
        last = self._last
        if telling.position:
            last = self._last = last.joined(telling)
            if self._keys:
                self._keys = {key: number for key, number in self._keys.items() if number >= last.logged}
        if key:
            self._keys.pop(key, None)
            self._keys[key] = telling.number or last.logged + UNTOLD_FOR
            if len(self._keys) > MOST_KEYS:
                del self._keys[next(iter(self._keys))]
        return _written(last.position, tuple(self._keys)) if last.position else ""


@dataclass(frozen=True, slots=True)
class ResumptionPoint:
    """The progress of a client: an id as it is written and read."""

    position: int
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((str(self.position), *self.keys[-MOST_KEYS:]))

    @property
    def time(self) -> datetime:
        """Return when the position was drawn."""
        return instant_of_id(self.position)

    @classmethod
    def read(cls, text: str) -> ResumptionPoint | None:
        """Return the point that an id names; None if the text is no id."""
        position, *keys = text.split(".") if len(text) <= LONGEST_ID else [""]
        if not _is_number(position) or len(keys) > MOST_KEYS or not all(map(_is_key, keys)):
            return None
        return cls(int(position), tuple(keys))


@lru_cache(maxsize=1024)
def _written(position: int, keys: tuple[str, ...]) -> str:
    """Return an id. An event has the same one in most feeds."""
    return str(ResumptionPoint(position, keys))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _is_key(text: str) -> bool:
    return _is_number(text[1:] if text[:1] in ("d", "-") else text)
