"""Home and public timelines."""

from __future__ import annotations

from collections.abc import Sequence

from ...actors.kernel.address import Address
from ...actors.timelines.home import HomePage
from ...actors.timelines.public import PublicPage
from ...actors.timelines.window import Cursors
from ..answer import Answer, array
from ..authentication import USER_REQUIRED, Viewer
from ..errors import Unauthorized
from ..house import House
from ..paging import Paged, links
from ..parameters import Flag
from ..request import Request
from ..routing import api
from ..showing import perspective_of, render_ids

STATUSES = 20  # on a page, when nobody says how many


class PublicTimeline(Paged):
    local: Flag = False
    remote: Flag = False
    only_media: Flag = False

    def place(self) -> str:
        """Which public timeline; asked for both halves, it is the whole."""
        if self.local == self.remote:
            return "all"
        return "local" if self.local else "remote"


@api.get("/api/v1/timelines/home", auth="user", scopes=("read:statuses",))
async def show_home(house: House, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """What those the viewer follows have posted."""
    ids = await viewer.ask(HomePage(_cursors(paged)), Address("home", str(viewer.account_id)))
    return await _timeline(house, request, viewer, ids)


@api.get("/api/v1/timelines/public", scopes=("read:statuses",))
async def show_public(house: House, request: Request, viewer: Viewer | None, wanted: PublicTimeline) -> Answer:
    """What everybody has posted."""
    if viewer is None and not house.settings.public_preview:
        raise Unauthorized(USER_REQUIRED)
    message = PublicPage(_cursors(wanted), await perspective_of(viewer), wanted.only_media)
    ids = await house.runtime.ask(Address("public", wanted.place()), message, origin=request.origin)
    return await _timeline(house, request, viewer, ids)


def _cursors(paged: Paged) -> Cursors:
    page = paged.page(STATUSES)
    return Cursors(page.max_id, page.since_id, page.min_id, page.limit)


async def _timeline(house: House, request: Request, viewer: Viewer | None, ids: Sequence[int]) -> Answer:
    """A page with both links, for whose cursors hidden and deleted entries count as well."""
    bodies = await render_ids(house, viewer, ids)
    return array(bodies, links(house.settings.base_url + request.path, request.query_texts, ids))
