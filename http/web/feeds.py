"""Feeds of public statuses: of an account, and of a hashtag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...actors.broadcast.broadcast import tag_address
from ...actors.rules.markup import plain
from ...actors.rules.text import tag_url, tagged_url
from ...actors.rules.visibility import ANONYMOUS
from ...actors.shown.statuses import ShownStatus
from ...actors.timelines.tag import TagPage
from ...storage.accounts import Account
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..entities.account import avatar_url
from ..intake.request import Request
from ..router import api
from ..views.accounts import find_local
from ..views.profiles import posts_of
from ..views.statuses import visible_among
from ..views.titles import name_of
from .layout import cacheable
from .paging import POSTS
from .profiles import Tab, part_of, tab_path
from .rss import FeedChannel, feed_xml, http_date, newest_change
from .tags import hashtag_named, spelling

RSS = "application/rss+xml; charset=utf-8"
NEWEST = Page(POSTS)


@api.get("/@<name>.rss", page=True)
async def show_account(context: HttpContext, request: Request, name: str) -> Answer:
    """The newest public statuses of an account, without boosts and replies to others."""
    return await _feed_of_tab(context, request, name, "posts")


@api.get("/@<name>/with_replies.rss", page=True)
async def show_replies(context: HttpContext, request: Request, name: str) -> Answer:
    """The same with the account's replies."""
    return await _feed_of_tab(context, request, name, "with_replies")


@api.get("/@<name>/media.rss", page=True)
async def show_media(context: HttpContext, request: Request, name: str) -> Answer:
    """The same with pictures, videos and sounds alone."""
    return await _feed_of_tab(context, request, name, "media")


@api.get("/@<name>/tagged/<tag>.rss", page=True)
async def show_tagged(context: HttpContext, request: Request, name: str, tag: str) -> Answer:
    """The newest public statuses of an account with a hashtag, including replies."""
    account, tag = await find_local(context, name), hashtag_named(tag)
    found = await _posts(context, account, "with_replies", tag)
    base_url, shown = context.settings.base_url, spelling(tag, found)
    url = tagged_url(f"{base_url}/@{account.username}", tag)
    description = f"Posts by @{account.username}@{context.settings.local_domain} about #{shown}"
    title = f"{name_of(account)}: #{shown}"
    channel = FeedChannel(title, url, f"{url}.rss", description, avatar_url(account, base_url))
    return _feed(context, request, channel, found)


@api.get("/tags/<name>.rss", page=True)
async def show_tag(context: HttpContext, request: Request, name: str) -> Answer:
    """The newest public statuses with a hashtag."""
    context.check_preview(None)
    tag = hashtag_named(name)
    ids = await context.runtime.ask(tag_address(tag), TagPage(NEWEST), origin=request.origin)
    url, title = tag_url(context.settings.base_url, tag), context.settings.title
    image = f"{context.settings.base_url}/thumbnail.png"
    found = await visible_among(context, ids, ANONYMOUS)
    shown = spelling(tag, found)
    channel = FeedChannel(f"#{shown}", url, f"{url}.rss", f"Posts about #{shown} on {title}", image)
    return _feed(context, request, channel, found)


async def _feed_of_tab(context: HttpContext, request: Request, name: str, tab: Tab) -> Answer:
    account = await find_local(context, name)
    shown = await _posts(context, account, tab)
    base_url = context.settings.base_url
    url = f"{base_url}{tab_path(account, tab)}"
    description = plain(account.note) or f"Posts by @{account.username}@{context.settings.local_domain}"
    channel = FeedChannel(name_of(account), url, f"{url}.rss", description, avatar_url(account, base_url))
    return _feed(context, request, channel, shown)


async def _posts(context: HttpContext, account: Account, tab: Tab, tag: str | None = None) -> list[ShownStatus]:
    part = replace(part_of(account, tab, tag), exclude_reblogs=True, only_public=True)
    return await visible_among(context, await posts_of(context, account, ANONYMOUS, part, NEWEST), ANONYMOUS)


def _feed(context: HttpContext, request: Request, channel: FeedChannel, shown: Sequence[ShownStatus]) -> Answer:
    newest = newest_change(shown)
    headers = () if newest is None else (("Last-Modified", http_date(newest)),)
    return cacheable(Answer(feed_xml(channel, shown, context.settings.base_url), 200, headers, RSS), request)
