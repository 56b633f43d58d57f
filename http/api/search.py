"""Search for accounts, hashtags and statuses at once, or for pages of one kind."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from ...actors.rules import text
from ...actors.rules.identity import handle_of, without_signs_around
from ...actors.rules.search_queries import SoughtMark, read_search
from ...actors.rules.visibility import belongs_in_thread
from ...storage import accounts, search
from ...storage.status_search import Onlooker, StatusSearch, find_newest, mark, words
from ...storage.status_words import author, has, hashtag, language
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Malformed, Unauthorized
from ..intake.paging import clamp
from ..intake.parameters import LARGEST_ID, AccountId, Choice, Count, Cursor, Flag, Input, LowerCursor, Sought
from ..router import api
from ..views.accounts import render_accounts
from ..views.hashtags import render_tags
from ..views.resolving import find_accounts, resolve_address, web_address_of
from ..views.statuses import perspective_of, render_all, visible_among

HASHTAG_ALONE = re.compile(r"[#\uff03]\S+")
RESULTS = 20  # of each kind, unless the request has a limit
FURTHEST = 10_000  # the largest offset of statuses: all statuses before the page are read

PAGING = "Search queries pagination is not supported without authentication"
RESOLVING = "Search queries that resolve remote resources are not supported without authentication"
NEGATIVE = "Pagination values for `offset` and `limit` must be positive"


class SearchQuery(Input):
    q: Sought
    # There are no collections here: a search for them finds nothing.
    type: Annotated[Literal["accounts", "hashtags", "statuses", "collections"] | None, Choice] = None
    resolve: Flag = False
    following: Flag = False
    account_id: AccountId = None
    exclude_unreviewed: Flag = False
    max_id: Cursor = None
    min_id: LowerCursor = None
    limit: Count = None
    offset: Count = None

    def check(self, viewer: Viewer | None) -> None:
        """Raise an error for negative numbers, and for visitors who page or resolve."""
        if (self.limit or 0) < 0 or (self.offset or 0) < 0:
            raise Malformed(NEGATIVE)
        if viewer is None and self.offset:
            raise Unauthorized(PAGING)
        if viewer is None and self.resolve:
            raise Unauthorized(RESOLVING)

    def wants(self, kind: str) -> bool:
        """True if results of this kind are requested. A query of a single `#hashtag` means only hashtags."""
        if self.type is None and HASHTAG_ALONE.fullmatch(self.q.strip()):
            return kind == "hashtags"
        return self.type in (None, kind)

    def page(self, most: int) -> Page:
        """Return the page. Only a search for a single kind has cursors."""
        limit = min(clamp(self.limit, RESULTS), most)
        return Page(limit) if self.type is None else Page(limit, max_id=self.max_id, min_id=self.min_id)

    @property
    def bare(self) -> str:
        """The query without signs around it, for handles and URLs."""
        return without_signs_around(self.q)

    @property
    def skipped(self) -> int:
        return 0 if self.type is None else self.offset or 0


@api.get("/api/v2/search", scopes=("read:search",), returns="Search")
async def show(context: HttpContext, viewer: Viewer | None, query: SearchQuery) -> Answer:
    """Search this server. With `resolve`, an unknown handle or URL is requested from its server."""
    query.check(viewer)
    if query.resolve and (address := web_address_of(query.bare)) is not None:
        return await _addressed(context, viewer, query, address)
    page = query.page(context.settings.search_results)
    people = await _accounts(context, viewer, query, page) if query.wants("accounts") else []
    posts = await _statuses(context, viewer, query, page) if query.wants("statuses") and viewer is not None else []
    hashtags = await _hashtags(context, viewer, query, page) if query.wants("hashtags") else []
    kinds = (b",".join(kind) for kind in (people, posts, hashtags))
    return Answer(b'{"accounts":[%b],"statuses":[%b],"hashtags":[%b]}' % tuple(kinds))


async def _addressed(context: HttpContext, viewer: Viewer | None, query: SearchQuery, address: str) -> Answer:
    """Answer with the account or the status at a URL."""
    found = await resolve_address(context, address)
    people: list[bytes] = []
    posts: list[bytes] = []
    if isinstance(found, int):
        if query.wants("statuses"):
            posts = await render_all(
                context, viewer, await visible_among(context, [found], await perspective_of(viewer))
            )
    elif found is not None and found.suspended_at is None and query.wants("accounts"):
        people = await render_accounts(context, [found.id])
    return Answer(b'{"accounts":[%b],"statuses":[%b],"hashtags":[]}' % (b",".join(people), b",".join(posts)))


async def _accounts(context: HttpContext, viewer: Viewer | None, query: SearchQuery, page: Page) -> list[bytes]:
    ids = await find_accounts(
        context, viewer, query.bare, resolve=query.resolve, following=query.following, limit=page.limit,
        offset=query.skipped,
    )  # fmt: skip
    return await render_accounts(context, ids)


async def _hashtags(context: HttpContext, viewer: Viewer | None, query: SearchQuery, page: Page) -> list[bytes]:
    name = text.tag_name(query.q)  # several words are joined
    if not name:
        return []
    found = await context.database.read(
        search.tags, name, reviewed=query.exclude_unreviewed, limit=page.limit, offset=query.skipped
    )
    return await render_tags(context, viewer, found)


async def _statuses(context: HttpContext, viewer: Viewer, query: SearchQuery, page: Page) -> list[bytes]:
    perspective = await perspective_of(viewer)
    sought = await _sought(context, viewer, query, page)
    if sought is None:
        return []
    onlooker = Onlooker(viewer.account_id, tuple(perspective.shunned), tuple(perspective.domain_blocks))
    found = await context.database.read(
        find_newest, sought, onlooker, limit=page.limit, offset=min(query.skipped, FURTHEST)
    )
    ids = (entry.id for entry in found if belongs_in_thread(entry, perspective))
    return await render_all(context, viewer, await visible_among(context, ids, perspective))


async def _sought(context: HttpContext, viewer: Viewer, query: SearchQuery, page: Page) -> StatusSearch | None:
    """Return the parsed search for statuses; None if the query has neither words nor operators."""
    written = read_search(query.q)
    terms = [
        mark(hashtag(part.text), negated=part.negated) if part.is_hashtag else words(part.text, negated=part.negated)
        for part in written.texts
    ]
    for operator in written.marks:
        terms.append(mark(await _name_of(context, viewer, operator), negated=operator.negated))
    if query.account_id is not None:
        terms.append(mark(author(query.account_id)))
    if not any(terms) and not written.restricts:
        return None
    below, above, _ = page.bounds
    low = max(written.low, min(above + 1, LARGEST_ID))
    return StatusSearch(
        tuple(term for term in terms if term), low, min(written.high, below), written.without,
        in_public=written.place != "library", in_library=written.place != "public",
    )  # fmt: skip


async def _name_of(context: HttpContext, viewer: Viewer, sought: SoughtMark) -> str:
    """Return the name of an operator's mark. An unknown author becomes a mark that no status has."""
    if sought.kind == "has":
        return has(sought.value)
    if sought.kind == "language":
        return language(sought.value)
    if sought.value.lower() == "me":
        return author(viewer.account_id)
    handle = handle_of(sought.value, context.settings.local_domain)
    account = None if handle is None else await context.database.read(accounts.find_by_acct, *handle)
    return author(0 if account is None else account.id)
