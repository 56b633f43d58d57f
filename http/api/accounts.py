"""Accounts: shown, looked up and searched, with their statuses, followers and lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...actors.rules import text
from ...actors.rules.identity import handle_of, without_signs_around
from ...actors.rules.visibility import Perspective, shows_network, shows_profile
from ...storage import accounts, follows, lists
from ...storage.accounts import Account
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array, json
from ..answers.errors import NotFound
from ..entities.timeline import list_fields
from ..intake.paging import Paged, clamp, links
from ..intake.parameters import Count, Flag, Given, Ids, Input, MaybeSought, Text
from ..intake.request import Request
from ..router import api
from ..views.accounts import PEOPLE, account_answer, find_account, render_accounts, require_public
from ..views.listing import accounts_page
from ..views.profiles import ProfilePart, pinned_of, posts_of
from ..views.resolving import find_accounts
from ..views.statuses import perspective_of, render_all, visible_among

READ = ("read:accounts",)
MOST_AT_ONCE = 40
STATUSES = 20

PageOf = Callable[..., Awaitable[list[tuple[int, int]]]]


class Lookup(Input):
    acct: Given


class AccountIds(Input):
    id: Ids = ()


class Posts(Paged):
    only_media: Flag = False
    exclude_replies: Flag = False
    exclude_reblogs: Flag = False
    pinned: Flag = False
    tagged: Text = ""

    def part(self) -> ProfilePart:
        return ProfilePart(
            exclude_replies=self.exclude_replies,
            exclude_reblogs=self.exclude_reblogs,
            only_media=self.only_media,
            tagged=text.tag_name(self.tagged) if self.tagged else None,
        )


class AccountSearch(Input):
    q: MaybeSought
    limit: Count = None
    offset: Count = None
    resolve: Flag = False
    following: Flag = False


@api.get("/api/v1/accounts", returns="[Account]")
async def show_several(context: HttpContext, wanted: AccountIds) -> Answer:
    """The accounts that exist, in the order of the ids."""
    return array(await render_accounts(context, wanted.id[:MOST_AT_ONCE]))


@api.get("/api/v1/accounts/lookup", scopes=READ, returns="Account")
async def look_up(context: HttpContext, viewer: Viewer | None, lookup: Lookup) -> Answer:
    """The account with a handle, if it is known here. No other server is asked."""
    handle = handle_of(without_signs_around(lookup.acct), context.settings.local_domain)
    if handle is None:
        raise NotFound
    return await account_answer(context, require_public(await context.database.read(accounts.find_by_acct, *handle)))


@api.get("/api/v1/accounts/search", auth="user", scopes=READ, returns="[Account]")
async def show_found(context: HttpContext, viewer: Viewer, query: AccountSearch) -> Answer:
    """Search accounts by a handle, the URL of a profile or words of a name. An exact match comes first.

    With `resolve`, the server in a handle is asked for an account that is not known here. Apps ask at each key press,
    also when the field is empty again: nothing is found then.
    """
    if not query.q.strip():
        return array([])
    ids = await find_accounts(
        context, viewer, without_signs_around(query.q), resolve=query.resolve, following=query.following,
        limit=clamp(query.limit, PEOPLE), offset=max(query.offset or 0, 0),
    )  # fmt: skip
    return array(await render_accounts(context, ids))


@api.get("/api/v1/accounts/<id>", scopes=READ, returns="Account")
async def show(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """An account; 410 if it is suspended. An outdated account of another server is fetched for later requests."""
    account = await find_account(context, id)
    context.federation.resolver.refresh_later(account)
    return await account_answer(context, account)


@api.get("/api/v1/accounts/<id>/statuses", scopes=("read:statuses",), returns="[Status]")
async def show_statuses(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, wanted: Posts
) -> Answer:
    """The statuses and boosts of an account that the viewer may see; an empty list if it blocks the viewer."""
    account = await find_account(context, id)
    perspective = await perspective_of(viewer)
    if not shows_profile(account.id, perspective):
        return array([])
    if wanted.pinned:
        pinned = await pinned_of(context, account, perspective, wanted.page(STATUSES))
        return array(await _statuses(context, viewer, perspective, pinned))
    ids = await posts_of(context, account, perspective, wanted.part(), wanted.page(STATUSES))
    bodies = await _statuses(context, viewer, perspective, ids)
    return array(bodies, links(context.settings.base_url + request.path, request.query_texts, ids))


async def _statuses(
    context: HttpContext, viewer: Viewer | None, perspective: Perspective, ids: list[int]
) -> list[bytes]:
    return await render_all(context, viewer, await visible_among(context, ids, perspective))


@api.get("/api/v1/accounts/<id>/followers", scopes=READ, returns="[Account]")
async def show_followers(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, paged: Paged
) -> Answer:
    """The followers of an account, the latest first."""
    return await _network(context, request, viewer, await find_account(context, id), paged, follows.followers_page)


@api.get("/api/v1/accounts/<id>/following", scopes=READ, returns="[Account]")
async def show_following(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, paged: Paged
) -> Answer:
    """The accounts that an account follows, the latest first."""
    return await _network(context, request, viewer, await find_account(context, id), paged, follows.following_page)


async def _network(
    context: HttpContext, request: Request, viewer: Viewer | None, account: Account, paged: Paged, page_of: PageOf
) -> Answer:
    """Return a page of followers or of followed accounts.

    It is empty if the account blocks the viewer, or hides its network from others.
    """
    perspective = await perspective_of(viewer)
    if not shows_network(account, perspective):
        return array([])
    page = paged.page(PEOPLE)
    without = () if perspective.account_id == account.id else perspective.shunned
    rows = await context.database.read(page_of, account.id, page, without=without)
    return await accounts_page(context, request, rows, page.limit)


@api.get("/api/v1/accounts/<id>/lists", auth="user", scopes=("read:lists",), returns="[List]")
async def show_lists(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """The viewer's lists that an account is on."""
    account = await find_account(context, id)
    holding = await context.database.read(lists.holding, viewer.account_id, account.id)
    return json([list_fields(list) for list in holding])


@api.get("/api/v1/accounts/<id>/identity_proofs", auth="user", returns="[IdentityProof]")
async def show_identity_proofs(context: HttpContext, id: int) -> Answer:
    """An empty list: Mastodon removed identity proofs in version 3.5."""
    await find_account(context, id)
    return array([])
