"""The relations and filters of accounts as of the last fact, for streams and reads.

There is one `ViewerRules` for each account in use, with awake actors or open streams. `Fact.cache` changes it, before
the change is answered, and not when an actor takes a message out of its mailbox. So once a block is answered, no stream
shows anything that the block hides, also events that wait in a feed or were missed, and no read is answered by older
relations. Homes and lists keep the perspective that they built their window with, and change it in their own turn.

Rows are read when an account comes into use, and again after a crash. Facts that arrive during the query are applied to
its result. Facts about a pair of accounts have stamps, so that an outdated fact changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Protocol
from weakref import WeakValueDictionary

import trio

from ...storage import filters, relations
from ...storage.engine.database import Database
from ...storage.filters import Filter
from ..kernel import SystemMessage
from ..rules.filters import NO_FILTERS, Filters
from ..rules.visibility import Following, Muting, Perspective, Relation
from ..shown.conversations import ShownConversation
from ..shown.notifications import ShownNotification

# Two changes of a pair that could overtake each other are milliseconds apart, so the oldest stamps may be forgotten.
ACCOUNTS_REMEMBERED = 10_000
PAIRS_REMEMBERED = 1_000  # of each

# Accounts whose rows are read at once: with 300 follows each, they keep the loop for ten milliseconds.
READ_AT_ONCE = 25
LOOKS = 1_000  # accounts in use that are looked at in a row, of which most have no streams

Change = Callable[["ViewerRules"], None]


@dataclass(frozen=True, slots=True)
class Related(SystemMessage[None]):
    """To an account and its home: the changed relation to `other`. Ids below `drawn` are older than the change."""

    other: int
    relation: Relation
    stamp: int
    drawn: int


class Watcher(Protocol):
    """An open connection of an account, which applies the account's rules."""

    def use_rules(self, *, filters_changed: bool) -> None:
        """Apply the changed rules from now on."""
        ...


class RelationStamps:
    """The newest change of each relation that an actor knows, to ignore messages about older changes.

    Commits can reach the actor in any order, and after a crash the rows it reads are newer than the messages in its
    mailbox. Only changes that the actor has applied count: a newer change that still waits in its mailbox must not hide
    an older change, because a request between the two may rely on the older change.
    """

    def __init__(self, stamps: Mapping[int, int]) -> None:
        self._stamps = dict(stamps)

    def takes(self, change: Related) -> bool:
        """True if the change is not older than the newest known change of this pair. Then remember it."""
        if change.stamp < self._stamps.get(change.other, 0):
            return False
        self._stamps[change.other] = change.stamp
        return True


@dataclass(slots=True, eq=False)
class Reading:
    """A query of rows that is running, with the changes during it. A later reading has a higher number."""

    number: int
    changes: list[Change] = field(default_factory=list[Change])


class ViewerRules:
    """The relations and filters of one account. Its actors and streams share them; only `Viewers` changes them."""

    __slots__ = (
        "__weakref__",
        "_domains_blocked_at",
        "_filters_taken",
        "_readings",
        "_shunned_at",
        "_taken",
        "_watchers",
        "filters",
        "narrowed",
        "perspective",
    )  # fmt: skip

    def __init__(self, account_id: int) -> None:
        self.perspective = Perspective(account_id)
        self.filters = NO_FILTERS
        # True once a follow has ended or has got other terms. Then an event in a home's feed may not belong there any
        # more, and streams check it again.
        self.narrowed = False
        # By account that is blocked or muted with its notifications, and by blocked domain: the id at that time.
        # Notifications with lower ids are older and must be hidden here. Later notifications were checked when made.
        self._shunned_at: dict[int, int] = {}
        self._domains_blocked_at: dict[str, int] = {}
        self._readings: list[Reading] = []
        self._filters_taken = 0  # the number of the last applied reading of the filters; 0: none yet
        self._taken = 0  # the number of the last applied reading of the relations; 0: none yet
        self._watchers: dict[Watcher, None] = {}

    @property
    def is_watched(self) -> bool:
        return bool(self._watchers)

    def share(self, perspective: Perspective) -> Perspective:
        """Return the perspective of these rules if it equals the perspective of an actor, else that of the actor.

        A second copy takes 9 KiB with 30 follows, a quarter of the memory of an awake home, and 64 KiB with 300.
        """
        return self.perspective if perspective == self.perspective else perspective

    def start_watching(self, watcher: Watcher) -> None:
        self._watchers[watcher] = None

    def stop_watching(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)

    def end_mutes(self, now: datetime) -> None:
        """Remove the mutes that have expired."""
        muting = self.perspective.muting
        if muting and (ended := [other for other, terms in muting.items() if expired(terms, now)]):
            for other in ended:
                self.perspective = self.perspective.unmuted(other)
            self._tell_watchers()

    def shows_notification(self, shown: ShownNotification) -> bool:
        """True unless a later block or mute hides the notification, or its status."""
        sender = shown.account
        if shown.id < self._shunned_at.get(sender.id, 0) or not shown.is_for(self.perspective):
            return False
        if sender.id in self.perspective.following:
            return True
        return shown.id >= self._domains_blocked_at.get(sender.domain or "", 0)

    def shows_conversation(self, shown: ShownConversation) -> bool:
        """True unless a later block has removed the conversation."""
        last, blocking, at = shown.conversation.last_status_id or 0, self.perspective.blocking, self._shunned_at
        return not any(account.id in blocking and last < at.get(account.id, 0) for account in shown.participants)

    # Facts ----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change, *, filters_changed: bool = False) -> None:
        """Change the rules now, and again after each query of rows that is running."""
        for reading in self._readings:
            reading.changes.append(change)
        change(self)
        self._tell_watchers(filters_changed=filters_changed)

    def relate(self, related: Related) -> None:
        other, relation = related.other, related.relation
        before = self.perspective.following.get(other)
        self.narrowed = self.narrowed or (before is not None and before != relation.following)
        self.perspective = self.perspective.after(other, relation)
        muted = relation.muting is not None and relation.muting.hide_notifications
        if not (muted or relation.blocking):
            self._shunned_at.pop(other, None)
        elif other not in self._shunned_at:
            self._shunned_at[other] = related.drawn

    def block_domains(self, domains: frozenset[str], drawn: int) -> None:
        self.perspective = replace(self.perspective, domain_blocks=domains)
        self._domains_blocked_at = {domain: self._domains_blocked_at.get(domain, drawn) for domain in domains}

    def follow_tags(self, tags: Mapping[str, int]) -> None:
        self.narrowed = self.narrowed or not self.perspective.followed_tags.keys() <= tags.keys()
        self.perspective = replace(self.perspective, followed_tags=tags)

    def filter_by(self, found: Filters) -> None:
        self.filters = found

    # Rows -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self, number: int) -> Generator[Reading]:
        """A context for a query of rows, which collects the changes during it."""
        reading = Reading(number)
        self._readings.append(reading)
        try:
            yield reading
        finally:
            self._readings.remove(reading)

    def take_relations(self, reading: Reading, found: Perspective, new_id: Callable[[], int]) -> None:
        """Use the relations that were read, unless a later reading has ended first."""
        if reading.number < self._taken:
            return
        before = self.perspective
        self.perspective = found
        if self._taken:
            self._shun(before, new_id)
        self._redo(reading)
        if self._taken:
            kept = self.perspective.following
            self.narrowed = self.narrowed or any(kept.get(id) != terms for id, terms in before.following.items())
        self._taken = reading.number
        if self.perspective == before:
            self.perspective = before
        else:
            self._tell_watchers()

    def take_filters(self, reading: Reading, found: Filters) -> None:
        """Use the filters that were read, unless a later reading has ended first."""
        if reading.number < self._filters_taken:
            return
        before, self.filters = self.filters, found
        self._redo(reading)
        if self.filters == before:
            self.filters = before  # the old object has cached results
        else:
            self._tell_watchers(filters_changed=self._filters_taken > 0)
        self._filters_taken = reading.number

    def _shun(self, before: Perspective, new_id: Callable[[], int]) -> None:
        """Note blocks and mutes that were found in rows, without their facts. All notifications so far are older."""
        now, domains = shunned_by(self.perspective), self.perspective.domain_blocks
        new = now - shunned_by(before), domains - before.domain_blocks
        drawn = new_id() if any(new) else 0
        self._shunned_at = {id: at for id, at in self._shunned_at.items() if id in now} | dict.fromkeys(new[0], drawn)
        blocked_at = {domain: at for domain, at in self._domains_blocked_at.items() if domain in domains}
        self._domains_blocked_at = blocked_at | dict.fromkeys(new[1], drawn)

    def _redo(self, reading: Reading) -> None:
        for change in reading.changes:
            change(self)

    def _tell_watchers(self, *, filters_changed: bool = False) -> None:
        for watcher in list(self._watchers):
            watcher.use_rules(filters_changed=filters_changed)


class Viewers:
    """The rules of all accounts that are in use in this process."""

    def __init__(self, database: Database, new_id: Callable[[], int]) -> None:
        self._database = database
        self._new_id = new_id
        self._rules: WeakValueDictionary[int, ViewerRules] = WeakValueDictionary()
        self._stamps: dict[int, dict[int, int]] = {}  # of the newest changes that are committed, by account and other
        self._readings = 0

    async def read(self, account_id: int) -> ViewerRules:
        """Return the rules of an account, with relations and filters that were read from rows just now."""
        rules = await self.read_relations(account_id)
        with self._reading(rules) as reading:
            rows = await self._database.read(filters.of_account, account_id)
            rules.take_filters(reading, Filters(rows) if rows else NO_FILTERS)
        return rules

    async def read_relations(self, account_id: int) -> ViewerRules:
        """Return the rules of an account, with relations that were read just now. Timelines need no filters."""
        rules = self._rules_of(account_id)
        with self._reading(rules) as reading:
            rows = await self._database.read(relations.relations, account_id)
            rules.take_relations(reading, perspective_of(account_id, rows), self._new_id)
        return rules

    def watch(self, account_id: int, watcher: Watcher) -> ViewerRules:
        """Return the rules of an account. They notify the watcher of each change until it stops watching.

        They are complete once the account's actor has answered any message: it has read the rows by then.
        """
        rules = self._rules_of(account_id)
        rules.start_watching(watcher)
        return rules

    async def read_again(self, account_ids: Iterable[int]) -> None:
        """Read the rows of watched accounts after unknown changes. Actors read theirs themselves."""
        for looked_at in batched(account_ids, LOOKS):
            watched = [id for id in looked_at if (rules := self._rules.get(id)) is not None and rules.is_watched]
            for ids in batched(watched, READ_AT_ONCE):
                await self._read_many(ids)
            if len(looked_at) == LOOKS:
                await trio.lowlevel.checkpoint()

    async def _read_many(self, account_ids: Sequence[int]) -> None:
        """Read the rows of several accounts, with as many queries as for one."""
        of = {id: rules for id in account_ids if (rules := self._rules.get(id)) is not None}
        with ExitStack() as contexts:
            readings = {id: contexts.enter_context(self._reading(rules)) for id, rules in of.items()}
            found = await self._database.read(relations.relations_of_many, list(of))
            for id, rows in found.items():
                of[id].take_relations(readings[id], perspective_of(id, rows), self._new_id)
        with ExitStack() as contexts:
            readings = {id: contexts.enter_context(self._reading(rules)) for id, rules in of.items()}
            filtering = await self._database.read(filters.of_accounts, list(of))
            for id, rows in filtering.items():
                of[id].take_filters(readings[id], Filters(rows) if rows else NO_FILTERS)

    async def read_watched_again(self) -> None:
        """Read the rows of all watched accounts."""
        await self.read_again(list(self._rules))

    def stamps_of(self, account_id: int) -> RelationStamps:
        """Return the newest known stamps of an account, for an actor that has just read the rules."""
        return RelationStamps(self._stamps.get(account_id, {}))

    # Changes by facts ----------------------------------------------------------------------------------------------

    def relate(self, account_id: int, change: Related) -> None:
        """Apply the change of a relation, unless a newer change is known."""
        if change.stamp < self._stamps.get(account_id, {}).get(change.other, 0):
            return
        self.note_stamp(account_id, change.other, change.stamp)
        self._apply(account_id, lambda rules: rules.relate(change))

    def note_stamp(self, account_id: int, other: int, stamp: int) -> None:
        """Remember the newest committed change of a pair. Rows that are read from now on contain it."""
        stamps = self._stamps.pop(account_id, {})
        stamps[other] = max(stamp, stamps.pop(other, 0))
        self._stamps[account_id] = stamps
        for memory, most in ((stamps, PAIRS_REMEMBERED), (self._stamps, ACCOUNTS_REMEMBERED)):
            if len(memory) > most:
                del memory[next(iter(memory))]

    def block_domains(self, account_id: int, domains: frozenset[str]) -> None:
        drawn = self._new_id()
        self._apply(account_id, lambda rules: rules.block_domains(domains, drawn))

    def follow_tags(self, account_id: int, tags: Mapping[str, int]) -> None:
        self._apply(account_id, lambda rules: rules.follow_tags(tags))

    def filter_by(self, account_id: int, rows: tuple[Filter, ...]) -> None:
        found = Filters(rows) if rows else NO_FILTERS
        self._apply(account_id, lambda rules: rules.filter_by(found), filters_changed=True)

    def _apply(self, account_id: int, change: Change, *, filters_changed: bool = False) -> None:
        if (rules := self._rules.get(account_id)) is not None:
            rules.apply(change, filters_changed=filters_changed)

    def _rules_of(self, account_id: int) -> ViewerRules:
        rules = self._rules.get(account_id)
        if rules is None:
            rules = self._rules[account_id] = ViewerRules(account_id)
        return rules

    def _reading(self, rules: ViewerRules) -> AbstractContextManager[Reading]:
        self._readings += 1
        return rules.reading(self._readings)


def batched(ids: Iterable[int], size: int) -> Iterator[list[int]]:
    """Yield ids in lists of this size."""
    rest = iter(ids)
    while batch := list(islice(rest, size)):
        yield batch


def shunned_by(perspective: Perspective) -> set[int]:
    """Return the accounts whose notifications are hidden by a block or a mute."""
    muted = (id for id, terms in perspective.muting.items() if terms.hide_notifications)
    return {*perspective.blocking, *muted}


def perspective_of(account_id: int, rows: relations.Relations) -> Perspective:
    """Return the rows as a perspective."""
    return Perspective(
        account_id,
        following={id: Following(*terms) for id, terms in rows.following.items()},
        requested=rows.requested,
        blocking=rows.blocking,
        blocked_by=rows.blocked_by,
        muting={id: Muting(*terms) for id, terms in rows.muting.items()},
        domain_blocks=rows.domain_blocks,
        followed_tags=rows.followed_tags,
    )


def relation_of(relation: relations.PairRelation) -> Relation:
    """Return the rows between two accounts as a relation."""
    return Relation(
        Following(*relation.following) if relation.following else None,
        relation.requested,
        relation.blocking,
        relation.blocked_by,
        Muting(*relation.muting) if relation.muting else None,
    )


def expired(muting: Muting, now: datetime) -> bool:
    return muting.expires_at is not None and muting.expires_at <= now
