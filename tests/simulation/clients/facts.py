"""What is known of the world while several change it at once: yes, no, or either.

A fact is either while an operation that may change it is in flight, and stays so when two of them overlapped, until
somebody who can know says what came of them. Questions are asked about a stretch of time: the answer is yes or no when
it was that all the time, and either otherwise.
"""

from collections.abc import Iterable

Known = bool | None  # None: it may be either


def both(*values: Known) -> Known:
    """Whether all are so."""
    if False in values:
        return False
    return None if None in values else True


def either(*values: Known) -> Known:
    """Whether at least one is so."""
    if True in values:
        return True
    return None if None in values else False


def some(values: Iterable[Known]) -> Known:
    return either(*values)


def no(value: Known) -> Known:
    return None if value is None else not value


class Time:
    """Counts what happens, so that facts can say since when they are so."""

    def __init__(self) -> None:
        self.now = 0

    def passes(self) -> int:
        self.now += 1
        return self.now


class Fact:
    """One yes or no about the world, and what was known of it when."""

    __slots__ = ("_base", "_mixed", "_past", "_writers", "time", "value")

    def __init__(self, time: Time, value: Known = False) -> None:
        self.value = value
        self.time = time
        self._past: list[tuple[int, Known]] = [(0, value)]
        self._writers = 0
        self._mixed = False
        self._base = value

    def over(self, since: int) -> Known:
        """What it was from then on until now."""
        value = self.value
        for tick, known in reversed(self._past):
            if known is not value:
                return None
            if tick <= since:
                return value
        return value

    def was(self, value: bool, since: int) -> bool:
        """Whether it is known to have been so at some moment since then."""
        for tick, known in reversed(self._past):
            if known is value:
                return True
            if tick <= since:
                return False
        return False

    def was_possible(self, since: int) -> bool:
        """Whether it may have been so at some moment since then."""
        for tick, known in reversed(self._past):
            if known is not False:
                return True
            if tick <= since:
                return False
        return False

    @property
    def possible_since(self) -> int:
        """The time since when it may be so."""
        since = self.time.now
        for tick, known in reversed(self._past):
            if known is False:
                break
            since = tick
        return since

    @property
    def alone(self) -> bool:
        """Whether one operation at a time has a hand in it."""
        return not self._mixed

    def set(self, value: Known) -> None:
        if value is not self.value:
            self.value = value
            self._past.append((self.time.passes(), value))

    def begin(self, value: Known) -> None:
        """An operation sets out that may make it so."""
        self._mixed = self._writers > 0
        if not self._mixed:
            self._base = self.value
        self._writers += 1
        if value is None or self.value is not value:
            self.set(None)

    def end(self, value: Known) -> None:
        """It made it so, or may have."""
        self._writers -= 1
        if not self._mixed:
            self.set(value)

    def leave(self) -> None:
        """It changed nothing."""
        self._writers -= 1
        if not self._mixed:
            self.set(self._base)

    def doubt(self) -> None:
        """Somebody else may have changed it meanwhile."""
        self._mixed = self._writers > 0
        self._base = None
        self.set(None)


class Register:
    """A value that one client changes, one change at a time."""

    __slots__ = ("_past", "_pending", "_time")

    def __init__(self, time: Time, value: str) -> None:
        self._time = time
        self._past: list[tuple[int, str]] = [(0, value)]
        self._pending: str | None = None

    @property
    def value(self) -> str:
        """The value that was acknowledged last."""
        return self._past[-1][1]

    def begin(self, value: str) -> None:
        """The client asks for this value; from now on others may see it."""
        self._pending = value

    def end(self) -> None:
        """The change was acknowledged: from now on the former value is not shown any more."""
        assert self._pending is not None
        self._past.append((self._time.passes(), self._pending))
        self._pending = None

    def over(self, since: int) -> set[str]:
        """The values that may be seen from then until now."""
        possible = set[str]() if self._pending is None else {self._pending}
        for tick, value in reversed(self._past):
            possible.add(value)
            if tick <= since:
                break
        return possible
