"""Statuses for one viewer. Every endpoint that answers with statuses uses these functions."""

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

SEARCHED_AT_ONCE = 5  # statuses, each of which takes a viewer's filters up to 6 ms the first time


async def perspective_of(viewer: Viewer | None) -> Perspective:
    """Return the viewer's perspective, which decides what they may see; without a viewer, the anonymous one."""
    return ANONYMOUS if viewer is None else await viewer.ask(PerspectiveOf())


async def find_visible(context: HttpContext, viewer: Viewer | None, id: int) -> ShownStatus:
    """Return a status that the viewer may see. Raises NotFound for a hidden status as for a missing one."""
    shown = await context.statuses.show(id)
    if shown is None or not may_see(shown, await perspective_of(viewer)):
        raise NotFound
    return shown


async def visible_among(context: HttpContext, ids: Iterable[int], viewer: Perspective) -> list[ShownStatus]:
    """Return those of these statuses that the viewer may see, in the order of the ids."""
    shown = await context.statuses.show_many(ids)
    return [one for one in shown.values() if may_see(one, viewer)]


async def answer_with(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """Answer with the status as the viewer sees it now. Raises NotFound for a hidden status as for a missing one.

    The viewer's part has the perspective too, so that one question is enough.
    """
    shown = await context.statuses.show(id)
    part = None if viewer is None or shown is None else await part_of(context, viewer, [shown])
    if shown is None or not may_see(shown, ANONYMOUS if part is None else part.perspective):
        raise NotFound
    return Answer(status_json(shown, context.rendered, context.settings.base_url, part))


async def render(context: HttpContext, viewer: Viewer | None, shown: ShownStatus) -> bytes:
    """One status."""
    return (await render_all(context, viewer, [shown]))[0]


async def render_all(context: HttpContext, viewer: Viewer | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Return several statuses. The viewer's part of them is read once for all."""
    return await render_with(context, None if viewer is None else await part_of(context, viewer, shown), shown)


async def render_with(context: HttpContext, part: ViewerPart | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Return several statuses with the viewer's part of them."""
    base_url = context.settings.base_url
    return await in_steps(status_json(one, context.rendered, base_url, part) for one in shown)


def without_hidden(
    context: HttpContext, part: ViewerPart, shown: Iterable[ShownStatus], filter_context: str
) -> list[ShownStatus]:
    """Return the statuses that the viewer's filters do not hide in this context."""
    if not part.filters.may_hide(filter_context):
        return list(shown)
    return [
        one for one in shown
        if not is_hidden(one, part.account_id, filter_context, part.filters, context.rendered)
    ]  # fmt: skip


async def part_of(context: HttpContext, viewer: Viewer, shown: Iterable[ShownStatus]) -> ViewerPart:
    """Return the viewer's part of these statuses: the flags of the originals and of what they quote, and the rest.

    The viewer's filters then know what they find in them. A new page of long texts takes a while to search, so others
    have their turn in between.
    """
    originals = list(_originals(shown))
    part = await viewer.ask(ViewerFlags(tuple(dict.fromkeys(one.id for one in originals))))
    new = [one for one in originals if not part.filters.has_searched(one.status)] if part.filters else []
    for number, one in enumerate(new, 1):
        matches_in(one, part.filters, context.rendered)
        if number % SEARCHED_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    return part


def _originals(shown: Iterable[ShownStatus]) -> Iterator[ShownStatus]:
    for one in shown:
        original = one.boosted or one
        yield original
        if original.quoted is not None:
            yield original.quoted
