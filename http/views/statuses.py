"""Statuses for a viewer. Every endpoint that answers with statuses uses these functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import trio

from ...actors.account import PerspectiveOf, ViewerFlags, ViewerPart
from ...actors.rules.visibility import ANONYMOUS, Perspective
from ...actors.shown.statuses import ShownStatus, may_see
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, in_steps
from ..answers.errors import NotFound
from ..entities.filter import is_hidden, matches_in
from ..entities.status import status_json

SEARCHED_AT_ONCE = 5  # statuses; the first search by a viewer's filters takes up to 6 ms for each


async def perspective_of(viewer: Viewer | None) -> Perspective:
    """Return the viewer's perspective, which visibility depends on; without a viewer, the anonymous perspective."""
    return ANONYMOUS if viewer is None else await viewer.ask(PerspectiveOf())


async def find_visible(context: HttpContext, viewer: Viewer | None, id: int) -> ShownStatus:
    """Return a status that the viewer may see. Raises NotFound for hidden and missing statuses."""
    shown = await context.statuses.show(id)
    if shown is None or not may_see(shown, await perspective_of(viewer)):
        raise NotFound
    return shown


async def visible_among(context: HttpContext, ids: Iterable[int], viewer: Perspective) -> list[ShownStatus]:
    """Return the statuses that the viewer may see, in the order of the ids."""
    shown = await context.statuses.show_many(ids)
    return [status for status in shown.values() if may_see(status, viewer)]


async def answer_with(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """Answer with the status as the viewer sees it now. Raises NotFound for hidden and missing statuses.

    The viewer's part has the perspective too, so it takes only one message to the actor.
    """
    shown = await context.statuses.show(id)
    part = None if viewer is None or shown is None else await part_of(context, viewer, [shown])
    if shown is None or not may_see(shown, ANONYMOUS if part is None else part.perspective):
        raise NotFound
    return Answer(status_json(shown, context.rendered, context.settings.base_url, part))


async def render(context: HttpContext, viewer: Viewer | None, shown: ShownStatus) -> bytes:
    """Return a status as JSON."""
    return (await render_all(context, viewer, [shown]))[0]


async def render_all(context: HttpContext, viewer: Viewer | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Return statuses as JSON. The viewer's part of all of them is read at once."""
    return await render_with(context, None if viewer is None else await part_of(context, viewer, shown), shown)


async def render_with(context: HttpContext, part: ViewerPart | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Return statuses as JSON with the viewer's part."""
    base_url = context.settings.base_url
    return await in_steps(status_json(status, context.rendered, base_url, part) for status in shown)


def without_hidden(
    context: HttpContext, part: ViewerPart, shown: Iterable[ShownStatus], filter_context: str
) -> list[ShownStatus]:
    """Return the statuses that the viewer's filters do not hide in this context."""
    if not part.filters.may_hide(filter_context):
        return list(shown)
    return [
        status for status in shown
        if not is_hidden(status, part.account_id, filter_context, part.filters, context.rendered)
    ]  # fmt: skip


async def part_of(context: HttpContext, viewer: Viewer, shown: Iterable[ShownStatus]) -> ViewerPart:
    """Return the viewer's part of these statuses: the flags of originals and quoted statuses, filters and perspective.

    The viewer's filters then have the matches in these statuses. The search of long texts takes a while, so it has
    checkpoints.
    """
    originals = list(_originals(shown))
    part = await viewer.ask(ViewerFlags(tuple(dict.fromkeys(original.id for original in originals))))
    new = [shown for shown in originals if not part.filters.has_searched(shown.status)] if part.filters else []
    for number, unsearched in enumerate(new, 1):
        matches_in(unsearched, part.filters, context.rendered)
        if number % SEARCHED_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    return part


def _originals(shown: Iterable[ShownStatus]) -> Iterator[ShownStatus]:
    for status in shown:
        original = status.boosted or status
        yield original
        if original.quoted is not None:
            yield original.quoted
