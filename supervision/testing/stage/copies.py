"""The copies of rows in the memory of a server, compared with what a process that has just started would read.

When nothing happens any more, every copy must equal its rows, on each node of a cluster: the cached accounts and
statuses, and the state of the awake accounts and timelines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

from ....actors.account import AccountActor
from ....actors.broadcast.viewers import Viewers
from ....actors.kernel.cell import AT_REST
from ....actors.rules.visibility import Perspective
from ....actors.timelines.home import HomeTimeline
from ....actors.timelines.list import ListTimeline
from ....actors.timelines.timeline import Timeline
from ....actors.timelines.window import SIZE
from ....storage import accounts, follow_requests, lists, status_flags, statuses, users
from ....storage.timeline_entries import TimelineEntry
from ....storage.upkeep.paging import Page
from ...children.actor_system import ActorSystem
from ..direct_connection import at_once
from ..lockstep import InstantDatabase

T = TypeVar("T")

ACCOUNTS = "SELECT id FROM accounts ORDER BY id"
STATUSES = "SELECT id FROM statuses ORDER BY id"
MOST_REQUESTS = 40  # of follows that an account counts


@dataclass(frozen=True, slots=True)
class HeldCopy:
    """A copy in memory, and the value that a new process would read."""

    name: str
    held: object
    fresh: object

    def __str__(self) -> str:
        return f"{self.name} is {self.held}, and the rows say {self.fresh}"


def outdated(actors: ActorSystem, database: InstantDatabase) -> list[HeldCopy]:
    """Return the copies of a server that differ from their rows. Actors that are not at rest are left out."""
    return [copy for copy in _copies(actors, database) if copy.held != copy.fresh]


def _copies(actors: ActorSystem, database: InstantDatabase) -> Iterator[HeldCopy]:
    ids = [row["id"] for row in database.rows(ACCOUNTS)]
    known = at_once(database.read(accounts.find_many, ids))
    yield from _cached("account", ids, actors.accounts.peek, known)
    ids = [row["id"] for row in database.rows(STATUSES)]
    stored = at_once(database.read(statuses.find_many, ids))
    yield from _cached("status", ids, actors.statuses.peek, stored)
    viewers = Viewers(database, lambda: 0)
    for kind in actors.runtime.pools:
        for cell in actors.runtime.awake(kind):
            if cell.phase not in AT_REST or cell.mailbox or cell.mailbox.resync:
                continue
            match cell.actor:
                case AccountActor() as account:
                    yield from _of_account(account, database, viewers)
                case Timeline() as timeline:
                    yield from _of_timeline(timeline, database, viewers)
                case _:
                    pass


def _cached(
    name: str, ids: Iterable[int], peek: Callable[[int], object | None], rows: dict[int, T]
) -> Iterator[HeldCopy]:  # fmt: skip
    for id in ids:
        if (held := peek(id)) is not None:
            yield HeldCopy(f"the cached {name} {id}", held, rows.get(id))


def _of_account(account: AccountActor, database: InstantDatabase, viewers: Viewers) -> Iterator[HeldCopy]:
    name, id = str(account.address), account.id
    rules = at_once(viewers.read(id))
    yield HeldCopy(f"the user of {name}", account.user, at_once(database.read(users.find_user, id)))
    yield HeldCopy(
        f"the perspective of {name}", _lasting(account, account.perspective), _lasting(account, rules.perspective)
    )
    yield HeldCopy(f"the filters of {name}", account.filters.rows, rules.filters.rows)
    stored = at_once(database.read(statuses.find_many, list(account.flags)))
    flags = at_once(database.read(status_flags.viewer_flags, id, list(stored)))
    yield HeldCopy(f"the flags of {name}", {status: account.flags[status] for status in stored}, flags)
    if account.requests is not None and account.requests[1] == account.context.facts.acts_of_staff:
        requests = at_once(database.read(follow_requests.page, id, Page(MOST_REQUESTS)))
        yield HeldCopy(f"the follow requests of {name}", account.requests[0], len(requests))


def _of_timeline(timeline: Timeline, database: InstantDatabase, viewers: Viewers) -> Iterator[HeldCopy]:
    name = str(timeline.address)
    match timeline:
        case HomeTimeline(id=id, exclusive=exclusive):
            found = at_once(viewers.read_relations(id)).perspective
            yield HeldCopy(
                f"the perspective of {name}", _lasting(timeline, timeline.perspective), _lasting(timeline, found)
            )
            members = frozenset(at_once(database.read(lists.exclusive_members, id)))
            yield HeldCopy(f"the members of exclusive lists of {name}", exclusive, members)
        case ListTimeline(id=id, row=row):
            yield HeldCopy(f"the terms of {name}", row, at_once(database.read(lists.find, id)))
            yield HeldCopy(f"the members of {name}", timeline.members, at_once(database.read(lists.members, id)))
            if row is not None:
                found = at_once(viewers.read_relations(row.account_id)).perspective
                # A list shows its members alone, so it does not hear of hashtags.
                held, read = (
                    replace(_lasting(timeline, perspective), followed_tags={})
                    for perspective in (timeline.perspective, found)
                )
                yield HeldCopy(f"the perspective of {name}", held, read)
        case _:
            pass
    reader = copy(timeline)
    reader.context = replace(timeline.context, database=database)
    rows = at_once(reader.rows(Page(SIZE)))
    entries = {entry.id: entry for entry in rows if timeline.admits(entry)}
    held = {entry.id: entry for entry in timeline.window}
    if not timeline.window.complete:  # it holds the newest alone
        entries = {id: entry for id, entry in entries.items() if id in held or id > min(held, default=0)}
    yield HeldCopy(f"the window of {name}", _comparable(held), _comparable(entries))


def _lasting(actor: AccountActor | Timeline, perspective: Perspective) -> Perspective:
    """Return a perspective without mutes that have expired: they are removed when they are next used."""
    now = actor.context.clock.now()
    for other, terms in perspective.muting.items():
        if terms.expires_at is not None and terms.expires_at <= now:
            perspective = perspective.unmuted(other)
    return perspective


def _comparable(entries: Mapping[int, TimelineEntry]) -> dict[int, TimelineEntry]:
    """Return entries in a form that differs only if a rule can see the difference.

    Most pages are read without tags, and the order of mentions is of no importance.
    """
    return {
        id: replace(
            entry,
            tags=(),
            mentioned_ids=tuple(sorted(entry.mentioned_ids)),
        )
        for id, entry in entries.items()
    }
