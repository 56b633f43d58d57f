"""The supervision log: a record for each decision that supervision takes.

Records are JSON lines for machines and short lines for people. Equal records within `WINDOW` seconds are folded: the
first is written at once. The others become a single record when the window is over, with the time of the first of them,
their `count` and the seconds from the first to the last. Records of libraries are folded for `LIBRARY_WINDOW`, also if
only numbers in their texts differ: a library that can't reach its server logs that at each try. Records that could not
be written are counted in a `log.dropped`.
"""

from __future__ import annotations

import logging
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import orjson
import trio

from ...actors.kernel.clock import Clock
from ...actors.kernel.errors import describe, place
from ...storage.engine.json_values import list_or_empty
from .console import escaped
from .recent import RecentRecords
from .redaction import redacted
from .vocabulary import FACTS, Level, LogEvent

WINDOW = 10.0
LIBRARY_WINDOW = 600.0
# All texts of a library may differ, so the oldest fold is closed before there are more.
MOST_FOLDS = 1000
# Numbers and addresses in memory, such as "retrying in 1.97s" and "at 0x7f2a0c".
NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?", re.IGNORECASE)
# Two records are folded if these facts are equal. The other facts differ each time.
LIKENESS = (
    "actor", "child", "incarnation", "message", "error", "place", "function", "decision", "address", "logger",
)  # fmt: skip
MOST_REQUEST_IDS = 16
# Facts that may quote texts of people.
FREE_TEXTS = ("error", "restored", "decision")
# The levels of records that name commands which show more.
GRAVE = (Level.WARNING, Level.ERROR)

Facts = dict[str, object]
Form = Callable[[datetime, LogEvent, Facts], str]


class VocabularyError(Exception):
    """Raised for an event or a fact outside the vocabulary."""


@dataclass(slots=True)
class RepeatedRecord:
    """Equal records since the first of them was written."""

    event: LogEvent
    since: datetime
    count: int = 0
    first: datetime | None = None  # of the records that are not written by themselves
    last: datetime | None = None
    latest: Facts = field(default_factory=Facts)
    request_ids: list[str] = field(default_factory=list[str])

    def is_over(self, now: datetime) -> bool:
        """True if the next equal record is written by itself."""
        window = LIBRARY_WINDOW if self.event is LogEvent.LIBRARY_SAID else WINDOW
        return not 0 <= (now - self.since).total_seconds() < window  # a clock that was set back would hold it for long

    def add(self, now: datetime, facts: Facts) -> None:
        """Add a record that is not written by itself."""
        self.count += 1
        self.first, self.last = self.first or now, now
        self.latest = facts
        request = facts.get("request_id")
        if isinstance(request, str) and len(self.request_ids) < MOST_REQUEST_IDS:
            self.request_ids.append(request)

    def summary(self) -> Facts:
        """Return the facts of the last record, with the count and the times of all records."""
        together = {name: value for name, value in self.latest.items() if name not in ("request_id", "trace_id")}
        together["count"] = self.count
        if self.first and self.last:
            together["folded_seconds"] = round((self.last - self.first).total_seconds(), 3)
        if self.request_ids:
            together["request_ids"] = self.request_ids
        return together


class SupervisionLog:
    """Writes records in a form, down to a level. Safe to call from any thread; raises only if `strict`.

    `write` takes a line, and raises OSError on failure. `lost` returns the number of accepted lines that could not be
    written, since its last call.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        clock: Clock,
        form: Form,
        level: Level = Level.INFO,
        *,
        lost: Callable[[], int] = lambda: 0,
        strict: bool = False,
    ) -> None:
        self._write = write
        self._lost = lost
        self._dropped = 0
        self._dropped_since: datetime | None = None
        self._clock = clock
        self._form = form
        self.level = level  # may be changed while it runs
        self._strict = strict
        self._closed = False
        self._folds: dict[tuple[object, ...], RepeatedRecord] = {}
        # Returns the trace of the task that writes a record, if any; set if traces are on.
        self.trace_id: Callable[[], str] | None = None
        self.counts = Counter[LogEvent]()  # of all records, also folded and unwritten records
        self._lock = threading.Lock()
        self.recent = RecentRecords()

    def record(self, event: str, /, **facts: object) -> None:
        """Write an event. `error` may be an exception.

        A word outside the vocabulary raises if strict. Otherwise it is logged as a bug.
        """
        if self.trace_id is not None and "trace_id" not in facts:
            facts["trace_id"] = self.trace_id()
        known, checked = self._checked(event, facts)
        with self._lock:
            self.counts[known] += 1
            if self._closed:
                return
            now = self._clock.now()
            self.recent.add(now, known.level.name.lower(), known.word, checked)
            if known.level.value < self.level.value:
                return
            self._close_folds(now)
            likeness = _fold_key(known, checked)
            if fold := self._folds.get(likeness):
                fold.add(now, checked)
            else:
                if len(self._folds) >= MOST_FOLDS:
                    # The oldest fold: the log must not grow in memory, however many different records come.
                    self._close_fold(next(iter(self._folds)))
                self._folds[likeness] = RepeatedRecord(known, now)
                self._put(now, known, checked)

    def pass_on(self, line: bytes, node: str) -> None:
        """Write a record that another process of this server has written as JSON, with the name of its node."""
        try:
            facts: Facts = orjson.loads(line)
            time, event = datetime.fromisoformat(str(facts.pop("time"))), LogEvent(facts.pop("event"))
        except (ValueError, KeyError, TypeError, AttributeError):
            self.record(LogEvent.LIBRARY_SAID.word, logger=node, error=line.decode("utf-8", "replace"))
            return
        with self._lock:
            if not self._closed:
                facts = {"node": node} | facts
                self._put(time, event, {name: facts[name] for name in FACTS if name in facts})

    def flush(self) -> None:
        """Write the records that are still folded, at the end of the process."""
        with self._lock:
            self._close_folds(self._clock.now(), everything=True)

    def close(self) -> None:
        """Ignore every later record."""
        self.flush()
        self._closed = True

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Close the folds whose window is over, also when no records arrive."""
        task_status.started()
        while not stopping.is_set():
            with trio.move_on_after(WINDOW / 2):
                await stopping.wait()
            with self._lock:
                self._close_folds(self._clock.now())
        self.flush()

    def _checked(self, event: str, facts: Mapping[str, object]) -> tuple[LogEvent, Facts]:
        words = {known.word: known for known in LogEvent}
        unknown = [name for name in facts if name not in FACTS] + ([] if event in words else [event])
        if unknown and self._strict:
            raise VocabularyError(f"not in the log's vocabulary: {', '.join(unknown)}")
        if isinstance(error := facts.get("error"), BaseException):
            facts = {"place": place(error), **facts, "error": describe(error)}
        given = {name: facts[name] for name in FACTS if facts.get(name) not in (None, "", [], ())}
        loggable = {name: redacted(str(value)) if name in FREE_TEXTS else value for name, value in given.items()}
        if event not in words:
            return LogEvent.LIBRARY_SAID, loggable | {"logger": "troupe", "error": f"unknown event {event}"}
        return words[event], loggable

    def _close_folds(self, now: datetime, *, everything: bool = False) -> None:
        for key in [key for key, fold in self._folds.items() if everything or fold.is_over(now)]:
            self._close_fold(key)
        self._report_dropped(now)

    def _close_fold(self, key: tuple[object, ...]) -> None:
        fold = self._folds.pop(key)
        if fold.first:
            self._put(fold.first, fold.event, fold.summary())

    def _put(self, time: datetime, event: LogEvent, facts: Facts) -> None:
        if not self._written(event, time, facts):
            self._dropped_since = self._dropped_since or time
            self._dropped += 1

    def _report_dropped(self, now: datetime) -> None:
        """Report how many records are missing, as soon as the log can be written again."""
        self._dropped += self._lost()
        if not self._dropped:
            return
        since = self._dropped_since or now
        facts: Facts = {"count": self._dropped, "folded_seconds": round((now - since).total_seconds(), 3)}
        if self._written(LogEvent.LOG_DROPPED, since, facts):
            self._dropped, self._dropped_since = 0, None

    def _written(self, event: LogEvent, time: datetime, facts: Facts) -> bool:
        """Write a record. False if that failed, which does not stop the server."""
        commands = _commands_for(event, facts)
        try:
            self._write(self._form(time, event, facts | {"commands": commands} if commands else facts) + "\n")
        except OSError:
            return False
        return True


class Forwarded(logging.Handler):
    """Forwards records of the standard library's `logging` to the supervision log."""

    def __init__(self, log: SupervisionLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: Facts = {"logger": record.name, "error": record.getMessage()}
        if record.exc_info and record.exc_info[1]:
            facts["error"] = f"{record.getMessage()}: {describe(record.exc_info[1])}"
            facts["place"] = place(record.exc_info[1])
        self._log.record(LogEvent.LIBRARY_SAID.word, **facts)


def route_libraries(log: SupervisionLog) -> None:
    """Send the standard library's logging to `log`, from WARNING up."""
    logging.basicConfig(handlers=[Forwarded(log)], level=logging.WARNING, force=True)


def as_json(now: datetime, event: LogEvent, facts: Facts) -> str:
    """Return a record for machines: one JSON object."""
    head = {
        "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": event.level.name.lower(),
        "event": event.word,
    }
    return escaped(orjson.dumps(head | facts, default=str).decode())


def _fold_key(event: LogEvent, facts: Facts) -> tuple[object, ...]:
    """Return the key of a fold: the facts in which equal records are equal."""
    if event is LogEvent.LIBRARY_SAID:
        facts = facts | {"error": NUMBER.sub("#", str(facts.get("error")))}
    return (event, *(facts.get(name) for name in LIKENESS))


def _commands_for(event: LogEvent, facts: Facts) -> list[str]:
    """Return the commands that show more: of the actor or the part, and of the request that caused it."""
    if event.level not in GRAVE:
        return []
    commands = [f"troupe actor show {shlex.quote(str(facts['actor']))}"] if "actor" in facts else []
    if "child" in facts and not commands:
        commands.append("troupe tree")
    first = facts.get("request_id") or next(iter(list_or_empty(facts.get("request_ids"))), None)
    if isinstance(first, str):
        commands.append(f"troupe request {shlex.quote(first)}")
    return commands
