"""Statuses for one viewer. Every endpoint that answers with statuses uses these functions."""

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
    """Return the viewer's perspective, which decides what they may see; without a viewer, the anonymous one."""
    return ANONYMOUS if viewer is None else await viewer.ask(PerspectiveOf())


async def find_visible(context: HttpContext, viewer: Viewer | None, id: int) -> ShownStatus:
    """Return a status that the viewer may see. Raises NotFound for a hidden status as for a missing one."""
    shown = await context.statuses.show(id)
    if shown is None or not may_see(shown, await perspective_of(viewer)):
        raise NotFound
    return shown


async def answer_with(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """Answer with the status as the viewer sees it now."""
    return Answer(await render(context, viewer, await find_visible(context, viewer, id)))


async def render(context: HttpContext, viewer: Viewer | None, shown: ShownStatus) -> bytes:
    """One status."""
    return (await render_all(context, viewer, [shown]))[0]


async def render_ids(context: HttpContext, viewer: Viewer | None, ids: Sequence[int]) -> list[bytes]:
    """Return the statuses of a timeline's page. The timeline has checked the viewer's rights, but no authors."""
    shown = await context.statuses.show_many(ids)
    return await render_all(context, viewer, [one for one in shown.values() if not one.is_withdrawn])


async def render_all(context: HttpContext, viewer: Viewer | None, shown: Sequence[ShownStatus]) -> list[bytes]:
    """Return several statuses. The viewer's flags are read once for all."""
    base_url = context.settings.base_url
    if viewer is None:
        return [status_json(one, context.rendered, base_url) for one in shown]
    flags = await flags_of(viewer, shown)
    return [status_json(one, context.rendered, base_url, viewer.account_id, flags) for one in shown]


async def flags_of(viewer: Viewer, shown: Iterable[ShownStatus]) -> FlagsById:
    """Return the viewer's flags of these statuses, by the ids of the originals."""
    originals = tuple(dict.fromkeys((one.boosted or one).id for one in shown))
    return await viewer.ask(ViewerFlags(originals)) if originals else {}
