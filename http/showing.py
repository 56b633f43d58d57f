"""From ids to JSON for one viewer: the one way in which statuses leave the house."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..actors.account import PerspectiveOf, ViewerFlags
from ..actors.rules.visibility import ANONYMOUS, Perspective
from ..actors.statuses import Shown, may_see
from .answer import Answer
from .authentication import Viewer
from .entities.status import FlagsById, status_json
from .errors import NotFound
from .house import House


async def perspective_of(viewer: Viewer | None) -> Perspective:
    """What the viewer's relations let them see; without a viewer, what everybody sees."""
    return ANONYMOUS if viewer is None else await viewer.ask(PerspectiveOf())


async def find_visible(house: House, viewer: Viewer | None, id: int) -> Shown:
    """A status that the viewer may see. Hidden is the same as missing."""
    shown = await house.statuses.show(id)
    if shown is None or not may_see(shown, await perspective_of(viewer)):
        raise NotFound
    return shown


async def answer_with(house: House, viewer: Viewer | None, id: int) -> Answer:
    """The status as the viewer sees it now."""
    return Answer(await render(house, viewer, await find_visible(house, viewer, id)))


async def render(house: House, viewer: Viewer | None, shown: Shown) -> bytes:
    """One status."""
    return (await render_all(house, viewer, [shown]))[0]


async def render_ids(house: House, viewer: Viewer | None, ids: Sequence[int]) -> list[bytes]:
    """The statuses of a timeline's page, which has decided who may see them, but keeps no watch on their authors."""
    shown = await house.statuses.show_many(ids)
    return await render_all(house, viewer, [one for one in shown.values() if not one.is_withdrawn])


async def render_all(house: House, viewer: Viewer | None, shown: Sequence[Shown]) -> list[bytes]:
    """Several statuses, with the viewer's flags asked for once."""
    base_url = house.settings.base_url
    if viewer is None:
        return [status_json(one, house.rendered, base_url) for one in shown]
    flags = await flags_of(viewer, shown)
    return [status_json(one, house.rendered, base_url, viewer.account_id, flags) for one in shown]


async def flags_of(viewer: Viewer, shown: Iterable[Shown]) -> FlagsById:
    """What the viewer did with these, by the ids of the originals."""
    originals = tuple(dict.fromkeys((one.boosted or one).id for one in shown))
    return await viewer.ask(ViewerFlags(originals)) if originals else {}
