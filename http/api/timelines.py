"""Home, list, public, hashtag and link timelines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ...actors.broadcast.broadcast import home_address, list_address, tag_address
from ...actors.kernel.message import Address
from ...actors.outgoing.messages import ForbiddenTarget
from ...actors.outgoing.targets import written_target
from ...actors.rules.text import tag_name
from ...actors.rules.visibility import Perspective, belongs_to_link
from ...actors.timelines.home import HomePage
from ...actors.timelines.list import ListPage
from ...actors.timelines.paging import read_page as read_entries
from ...actors.timelines.public import PublicPage
from ...actors.timelines.tag import TagPage
from ...storage import timelines
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..answers.errors import NotFound
from ..intake.paging import FilteredPage, Paged, links, read_page
from ..intake.parameters import Flag, Given, Texts
from ..intake.request import Request
from ..router import api
from ..views import statuses as views

STATUSES = 20  # on a page, unless the request has a limit
TAGS = 4  # in each condition of a tag timeline; more are ignored
LONGEST_TAG = 255


class PublicTimelineQuery(Paged):
    local: Flag = False
    remote: Flag = False
    only_media: Flag = False

    def place(self) -> str:
        """Return the requested public timeline. `local` and `remote` together mean the whole timeline."""
        if self.local == self.remote:
            return "all"
        return "local" if self.local else "remote"


class TagTimelineQuery(PublicTimelineQuery):
    any: Texts = ()
    all: Texts = ()
    none: Texts = ()

    def message(self, viewer: Perspective) -> TagPage:
        return TagPage(
            self.page(STATUSES), viewer, _tags(self.any), _tags(self.all), _tags(self.none),
            local=None if self.local == self.remote else self.local, only_media=self.only_media,
        )  # fmt: skip


class LinkTimelineQuery(Paged):
    url: Given

    def address(self) -> str:
        """Return the URL in the spelling of cards. Raises NotFound for a URL that no card can have."""
        try:
            return written_target(self.url).url
        except ForbiddenTarget:
            raise NotFound from None


@api.get("/api/v1/timelines/home", auth="user", scopes=("read:statuses",), returns="[Status]")
async def show_home(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The home timeline: statuses of the accounts and hashtags that the viewer follows."""
    home = home_address(viewer.account_id)
    return await _own_timeline(context, request, viewer, paged, lambda page: viewer.ask(HomePage(page), home))


@api.get("/api/v1/timelines/public", scopes=("read:statuses",), returns="[Status]")
async def show_public(
    context: HttpContext, request: Request, viewer: Viewer | None, wanted: PublicTimelineQuery
) -> Answer:
    """The public timeline."""
    context.check_preview(viewer)
    message = PublicPage(wanted.page(STATUSES), await views.perspective_of(viewer), wanted.only_media)
    ids = await context.runtime.ask(Address("public", wanted.place()), message, origin=request.origin)
    return await _timeline(context, request, viewer, ids)


@api.get("/api/v1/timelines/tag/<hashtag>", scopes=("read:statuses",), returns="[Status]")
async def show_tag(
    context: HttpContext, request: Request, viewer: Viewer | None, hashtag: str, wanted: TagTimelineQuery
) -> Answer:
    """The public statuses with a hashtag, including replies."""
    context.check_preview(viewer)
    name = tag_name(hashtag)
    if not name or len(name) > LONGEST_TAG:
        return array([])
    message = wanted.message(await views.perspective_of(viewer))
    ids = await context.runtime.ask(tag_address(name), message, origin=request.origin)
    return await _timeline(context, request, viewer, ids)


@api.get("/api/v1/timelines/link", scopes=("read:statuses",), returns="[Status]")
async def show_link(context: HttpContext, request: Request, viewer: Viewer | None, wanted: LinkTimelineQuery) -> Answer:
    """The public statuses with a link that is trending. 404 for other links."""
    context.check_preview(viewer)
    link = (await context.trends.links.get()).find(wanted.address())
    if link is None:
        raise NotFound
    perspective = await views.perspective_of(viewer)

    async def rows(page: Page) -> list[TimelineEntry]:
        return await context.database.read(timelines.link_entries, link.card.id, page)

    ids = await read_entries(rows, lambda entry: belongs_to_link(entry, perspective), wanted.page(STATUSES))
    return await _timeline(context, request, viewer, ids)


@api.get("/api/v1/timelines/list/<id>", auth="user", scopes=("read:lists",), returns="[Status]")
async def show_list(context: HttpContext, request: Request, viewer: Viewer, id: int, paged: Paged) -> Answer:
    """The timeline of a list of the viewer."""
    list, owner = list_address(id), viewer.account_id
    return await _own_timeline(context, request, viewer, paged, lambda page: viewer.ask(ListPage(owner, page), list))


def _tags(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in map(tag_name, names[:TAGS]) if name)


async def _timeline(context: HttpContext, request: Request, viewer: Viewer | None, ids: Sequence[int]) -> Answer:
    """Answer with a page of a timeline and links to older and newer pages. Hidden entries count for the cursors too."""
    found = await context.statuses.show_many(ids)
    bodies = await views.render_all(context, viewer, [status for status in found.values() if not status.is_withdrawn])
    return array(bodies, links(context.settings.base_url + request.path, request.query_texts, ids))


async def _own_timeline(
    context: HttpContext, request: Request, viewer: Viewer, paged: Paged, read: Callable[[Page], Awaitable[list[int]]]
) -> Answer:
    """Answer with a page of the home timeline or of a list, without statuses that the viewer's filters hide."""

    async def read_part(page: Page) -> FilteredPage[bytes]:
        ids = await read(page)
        found = await context.statuses.show_many(ids)
        there = [status for status in found.values() if not status.is_withdrawn]
        part = await views.part_of(context, viewer, there)
        seen = views.without_hidden(context, part, there, "home")
        return FilteredPage(ids, await views.render_with(context, part, seen), len(there) - len(seen))

    whole = await read_page(paged.page(STATUSES), read_part)
    return array(whole.shown, links(context.settings.base_url + request.path, request.query_texts, whole.ids))
