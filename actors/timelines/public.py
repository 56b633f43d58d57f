"""The public timelines: everything on this server, everything known to it, everything from elsewhere.

What a viewer's blocks and mutes hide is sifted for each page here, and for each stream by its session.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ...storage import statuses, timelines
from ...storage.paging import Page
from ...storage.statuses import TimelineEntry
from ..broadcast import StatusDeleted, StatusEdited, StatusPublished
from ..context import ActorContext
from ..kernel import Actor, Cell, Event, Runtime, Subscriber, first_id_at, turn
from ..rules.visibility import ANONYMOUS, Perspective, hidden
from .catching_up import edits_since
from .sifting import sift
from .window import SIZE, Window

MARGIN = timedelta(seconds=30)  # as in a home timeline


@dataclass(frozen=True, slots=True)
class PublicPage:
    """Query: ids of one page for this viewer, newest first."""

    cursors: Page
    viewer: Perspective = ANONYMOUS
    only_media: bool = False


class PublicTimeline(Actor):
    """`public/all`, `public/local` or `public/remote`."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime)
        self.context = context
        self.place = cell.address.key
        self.window = Window()

    async def load(self) -> None:
        rows = await self.fetch(Page(SIZE), only_media=False)
        self.window.fill(rows, complete=len(rows) < SIZE)
        if len(self.feed):
            await self.make_up()

    def subscribed(self, subscriber: Subscriber) -> None:
        if len(self.feed) == 1:
            self.feed.begin(self.window.ids, first_id_at(self.context.clock.now() - MARGIN))

    def describe(self) -> str:
        return f"window {len(self.window)}, subscribers {len(self.feed)}"

    async def fetch(self, at: Page, *, only_media: bool) -> list[TimelineEntry]:
        return await self.context.database.read(
            timelines.public_entries,
            at,
            local=self.place == "local",
            remote=self.place == "remote",
            only_media=only_media,
        )

    def holds(self, entry: TimelineEntry, subject: object) -> bool:
        """Whether a status, of which timelines of this kind are told, belongs to this one as it is now."""
        return True

    def is_news(self, entry: TimelineEntry) -> bool:
        """Whether streams should hear of it."""
        return entry.id > self.feed.floor

    async def make_up(self) -> None:
        """Show the subscribers of an earlier incarnation what they have missed."""
        news = [id for id in self.window.shown if id not in self.feed.shown and self.is_news(self.window[id])]
        shown = await self.context.statuses.show_many(news)
        for id in news:
            if id in shown and not self.context.statuses.is_deleted(id):
                self.feed.announce(id, Event("update", shown[id]))
        missing = [id for id in self.feed.shown if id not in self.window]
        for id in await self.context.database.read(statuses.deleted_among, missing) if missing else ():
            self.feed.retract(id, Event("delete", id))
        await self.show_edits()

    async def show_edits(self) -> None:
        """Edits of what stands here that nobody was told of."""
        for edit_id, shown in (await edits_since(self.context, self.window.ids, self.feed.floor)).items():
            self.feed.announce(edit_id, Event("status.update", shown))


@turn(PublicTimeline, PublicPage)
def page(timeline: PublicTimeline, message: PublicPage) -> list[int] | Coroutine[Any, Any, list[int]]:
    """From the window, or from rows when it does not hold the page."""
    admits = sieve(message.viewer)
    ids = None if message.only_media else timeline.window.page(message.cursors, admits)
    return ids if ids is not None else _page_from_rows(timeline, message, admits)


async def _page_from_rows(
    timeline: PublicTimeline, message: PublicPage, admits: Callable[[TimelineEntry], bool] | None
) -> list[int]:
    async def fetch(at: Page) -> list[TimelineEntry]:
        return await timeline.fetch(at, only_media=message.only_media)

    return await sift(fetch, admits or _everything, message.cursors)


@turn(PublicTimeline, StatusPublished)
def take_status(timeline: PublicTimeline, message: StatusPublished) -> None:
    entry = message.entry
    # After a crash this may be old news.
    if timeline.context.statuses.is_deleted(entry.id) or entry.id in timeline.feed.gone:
        return
    if timeline.holds(entry, message.event.subject):
        if timeline.window.repeats(entry):
            timeline.feed.know(entry.id)
        timeline.window.add(entry)
        timeline.feed.announce(entry.id, message.event)


@turn(PublicTimeline, StatusEdited)
def take_edit(timeline: PublicTimeline, message: StatusEdited) -> None:
    entry, subject = message.entry, message.event.subject
    if timeline.context.statuses.is_deleted(entry.id) or entry.id in timeline.feed.gone:
        return
    if timeline.context.broadcast.is_overtaken(message):
        return
    holds = timeline.holds(entry, subject)
    stays = timeline.window.amend(entry, lambda changed: timeline.holds(changed, subject))
    if holds and not stays and timeline.window.reaches(entry.id):
        timeline.window.add(entry)
    if holds or stays:
        timeline.feed.announce(message.edit_id, message.event)


@turn(PublicTimeline, StatusDeleted)
def drop_status(timeline: PublicTimeline, message: StatusDeleted) -> None:
    """For whoever was shown it or may have read it on an older page. Others never knew of it."""
    if message.id in timeline.feed.shown or timeline.window.may_hold(message.id):
        timeline.feed.retract(message.id, message.event)
    timeline.window.remove(message.id)


def sieve(viewer: Perspective) -> Callable[[TimelineEntry], bool] | None:
    """What this viewer's blocks and mutes let through; None when that is everything."""
    if not (viewer.blocking or viewer.blocked_by or viewer.muting or viewer.domain_blocks):
        return None
    return lambda entry: not hidden(entry, viewer)


def _everything(entry: TimelineEntry) -> bool:
    return True
