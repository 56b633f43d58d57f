"""The counts of rate limits and daily quotas, which the nodes tell each other.

Each node counts what it does itself, and subtracts what the others have counted from the limit. So a client has the
whole limit at the one node that it uses, and shares it among nodes as it uses them.

A count is told at once when it has grown by `AT_ONCE` of its limit, and otherwise with the polls, when it has grown by
`NOTEWORTHY`. So the counts that the others don't know add up to less than a tenth of the limit, and a node that refuses
tells nothing. No count waits for an answer: with counts on their way, the limit may be exceeded by a few.

A datagram may be lost, and a node may join later. So the counts are told again and again, a part of them with each
poll. Counts only grow, and of two for the same process the larger one is later: they may be repeated, and arrive in any
order. The counts of a process that has ended stay, and are told for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import trio
from cachetools import TTLCache

from ..memory.daily_quotas import COUNTED, DAY, MOST_A_DAY, DailyQuotas, Kind
from ..rules.domains import registrable
from .others import CountsOfNodes
from .peers import Peer
from .wire import Counts

# The parts of a limit that the nodes together may have counted without telling it: before a count is told at once, and
# when the counts are told with the polls.
AT_ONCE = 12
NOTEWORTHY = 50
# Polls in which all counts are told again: ten seconds.
ROUND = 40
# Counts in a datagram, of some 60 bytes each: a bus has a limit for the size of a datagram.
IN_A_DATAGRAM = 1_000
# Counts that are told again with a poll, so that even a hundred thousand of them take no time of the requests.
MOST_AGAIN = 500
# The most subjects of a window that are told, and that are heard. With more, they begin again, as the own counts do
# (`http/access/rates.py`).
MOST_SUBJECTS = 100_000
# The windows of a rule that other nodes may name: their clocks differ.
MOST_WINDOWS = 3


@dataclass(slots=True, eq=False)
class WindowOfNodes:
    """The counts of a rule in a window of time, by subject."""

    told: dict[str, int] = field(default_factory=dict[str, int])  # of this node, as the others know them
    due: dict[str, int] = field(default_factory=dict[str, int])  # of this node, to be told with the next poll
    heard: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])  # by process
    others: dict[str, int] = field(default_factory=dict[str, int])  # the sums of those heard

    def hear(self, process: str, counts: dict[str, int]) -> None:
        """Take the counts of another process."""
        known = self.heard.setdefault(process, {})
        for subject, used in counts.items():
            if (grown := used - known.get(subject, 0)) > 0:
                known[subject] = used
                self.others[subject] = self.others.get(subject, 0) + grown
        if len(self.others) > MOST_SUBJECTS:
            self.heard.clear()
            self.others.clear()

    def tell(self, counts: dict[str, int]) -> None:
        """Note that the other nodes are told these counts of this node."""
        if len(self.told) > MOST_SUBJECTS:
            self.told.clear()
        self.told.update(counts)


class SharedCounts:
    """The counts of this node and of the others. A window is named by its end, in seconds since 1970."""

    def __init__(
        self, send: Callable[[Counts], None], peers: Callable[[], Collection[Peer]], now: Callable[[], datetime]
    ) -> None:
        self._send = send  # to all other nodes
        self._peers = peers
        self._now = now
        self._rules: dict[str, dict[int, WindowOfNodes]] = {}
        self._again: Iterator[tuple[str, str, int, str, int]] = iter(())
        self._part = 1  # counts that are told again with a poll

    def add(self, rule: str, limit: int, ends: int, subject: str, used: int) -> int:
        """Note that this node has counted a subject up to `used`. Return what the other nodes have counted."""
        windows = self._rules.setdefault(rule, {})
        if (window := windows.get(ends)) is None:
            window = windows[ends] = WindowOfNodes()
        others, told = window.others.get(subject, 0), window.told.get(subject, 0)
        if told + others < limit:  # else every node refuses already
            nodes = len(self._peers()) + 1
            if used - told >= max(limit // (AT_ONCE * nodes), 1):
                window.due.pop(subject, None)
                window.tell({subject: used})
                self._send(Counts("", {rule: {ends: {subject: used}}}))
            elif used - told >= max(limit // (NOTEWORTHY * nodes), 1):
                window.due[subject] = used
        return others

    def of_others(self, rule: str, ends: int, subject: str) -> int:
        """Return what the other nodes have counted."""
        window = self._rules.get(rule, {}).get(ends)
        return 0 if window is None else window.others.get(subject, 0)

    def hear(self, sender: str, receiver: str, body: Counts) -> None:
        """Take the counts that another node tells: its own, or those of a process that has ended."""
        process = body.of or sender
        if process == receiver:  # this node has been away, and was taken for dead
            return
        now = self._now().timestamp()
        for rule, ended in body.counts.items():
            windows = self._rules.setdefault(rule, {})
            for ends, counts in ended.items():
                if ends > now and (ends in windows or len(windows) < MOST_WINDOWS):
                    windows.setdefault(ends, WindowOfNodes()).hear(process, counts)

    def hurry(self) -> None:
        """Tell all counts again from now on, as fast as allowed: another node has joined."""
        self._again = self._all()
        self._part = MOST_AGAIN

    def poll(self) -> None:
        """Tell the counts that have grown, and a part of all others again. Forget windows that are over."""
        now = self._now().timestamp()
        for rule, windows in list(self._rules.items()):
            for ends in [ends for ends in windows if ends <= now]:
                del windows[ends]
            if not windows:
                del self._rules[rule]
        self._tell(self._due())
        if not self._peers():
            return
        part = list(islice(self._again, self._part))
        if len(part) < self._part:
            self._again = self._all()
            told = sum(len(window.told) for windows in self._rules.values() for window in windows.values())
            self._part = min(told // ROUND + 1, MOST_AGAIN)
        self._tell(part)

    def _due(self) -> Iterable[tuple[str, str, int, str, int]]:
        for rule, windows in self._rules.items():
            for ends, window in windows.items():
                due, window.due = window.due, {}
                window.tell(due)
                yield from (("", rule, ends, subject, used) for subject, used in due.items())

    def _all(self) -> Iterator[tuple[str, str, int, str, int]]:
        """Iterate over all counts that other nodes may not know: of this node, and of processes that have ended."""
        for rule, windows in list(self._rules.items()):
            for ends, window in list(windows.items()):
                living = {peer.process for peer in self._peers()}
                ended = {process: counts for process, counts in window.heard.items() if process not in living}
                for process, counts in {"": window.told, **ended}.items():
                    for subject, used in list(counts.items()):
                        yield process, rule, ends, subject, used

    def _tell(self, entries: Iterable[tuple[str, str, int, str, int]]) -> None:
        """Send counts to all other nodes, in datagrams of a bounded size."""
        entries = iter(entries)
        while part := list(islice(entries, IN_A_DATAGRAM)):
            by_process: dict[str, dict[str, dict[int, dict[str, int]]]] = {}
            for process, rule, ends, subject, used in part:
                by_process.setdefault(process, {}).setdefault(rule, {}).setdefault(ends, {})[subject] = used
            for process, counts in by_process.items():
                self._send(Counts(process, counts))


class DailyQuotasOfNodes(DailyQuotas):
    """The quotas of all nodes. Their days are those of UTC, which begin at the same time on each node."""

    def __init__(self, counts: CountsOfNodes, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._counts = counts
        self._now = now
        self._used: TTLCache[tuple[int, Kind, str], int] = TTLCache(COUNTED, DAY, timer=trio.current_time)

    def __len__(self) -> int:
        return len(self._used)

    def take(self, kind: Kind, host: str, wanted: int = 1) -> int:
        ends, domain, limit = int((self._now().timestamp() // DAY + 1) * DAY), registrable(host), MOST_A_DAY[kind]
        rule, used = f"{kind} of a day", self._used.get((ends, kind, domain), 0)
        granted = max(0, min(wanted, limit - used - self._counts.of_others(rule, ends, domain)))
        if granted:
            self._used[ends, kind, domain] = used + granted
            self._counts.add(rule, limit, ends, domain, used + granted)
        return granted
