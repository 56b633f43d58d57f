"""Statuses rendered for one viewer: every endpoint that answers with statuses uses these functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...actors.account import PerspectiveOf, ViewerFlags
from ...actors.rules.visibility import ANONYMOUS, Perspective
from ...actors.statuses import ShownStatus, may_see
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..entities.status import FlagsById, status_json


async def perspective_of(viewer: Viewer | None) -> Perspective:
    """What the viewer's relations let them see; without a viewer, what everybody sees."""
    return ANONYMOUS if viewer is None else await viewer.ask(PerspectiveOf())


async def find_visible(context: HttpContext, viewer: Viewer | None, id: int) -> ShownStatus:
    """A status that the viewer may see. Hidden is the same as missing."""
    shown = await context.statuses.show(id)
    if shown is None or not may_see(shown, await perspective_of(viewer)):
        raise NotFound
    return shown


async def answer_with(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """The status as the viewer sees it now."""
    return Answer(await render(context, viewer, await find_visible(context, viewer, id)))


async def render(context: HttpContext, viewer: Viewer | None, shown: ShownStatus) -> bytes:
    """One status."""
    return (await render_all(context, viewer, [shown]))[0]


async def render_ids(context: HttpContext, viewer: Viewer | None, ids: Sequence[int]) -> list[bytes]:
    """The statuses of a timeline's page, which has decided who may see them, but keeps no watch on their authors."""
    shown = await context.statuses.show_many(ids)
    return await render_all(context, viewer, [one for one in shown.values() if not one.is_withdrawn])


async def render_all(context: HttpContext, viewer: Viewer | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Several statuses, with the viewer's flags asked for once."""
    base_url = context.settings.base_url
    if viewer is None:
        return [status_json(one, context.rendered, base_url) for one in shown]
    flags = await flags_of(viewer, shown)
    return [status_json(one, context.rendered, base_url, viewer.account_id, flags) for one in shown]


async def flags_of(viewer: Viewer, shown: Iterable[ShownStatus]) -> FlagsById:
    """What the viewer did with these, by the ids of the originals."""
    originals = tuple(dict.fromkeys((one.boosted or one).id for one in shown))
    return await viewer.ask(ViewerFlags(originals)) if originals else {}
