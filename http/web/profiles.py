"""The page of an account: its profile and its statuses."""

from __future__ import annotations

from typing import Literal

from ...actors.rules.markup import plain
from ...actors.rules.text import tagged_url
from ...actors.rules.visibility import ANONYMOUS
from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..entities.account import avatar_url, header_url
from ..federation.actors import actor_document
from ..intake.negotiation import asks_for_document
from ..intake.request import Request
from ..pages.times import shown_time
from ..router import api
from ..views.accounts import find_local, is_public
from ..views.profiles import ProfilePart, pinned_of, posts_of
from ..views.statuses import visible_among
from ..views.titles import SUMMARY_CHARACTERS, name_of, shortened
from .emojis import HERE, FindEmoji, html_with_emojis, text_with_emojis
from .heads import Head, HeadImage
from .layout import public_page
from .paging import ListPosition, neighbours
from .posts import Byline, byline, emojis_of, posts_in
from .tags import hashtag_named, spelling

Tab = Literal["posts", "with_replies", "media"]


@api.get("/@<name>", page=True, documents="too")
async def show(context: HttpContext, request: Request, name: str, position: ListPosition) -> Answer:
    """The profile of an account with its posts and boosts, without its replies to others."""
    if asks_for_document(request):
        return await actor_document(context, request, name)
    return await _show(context, request, name, position, "posts")


@api.get("/@<name>/with_replies", page=True)
async def show_replies(context: HttpContext, request: Request, name: str, position: ListPosition) -> Answer:
    """The profile of an account with its posts, boosts and replies."""
    return await _show(context, request, name, position, "with_replies")


@api.get("/@<name>/media", page=True)
async def show_media(context: HttpContext, request: Request, name: str, position: ListPosition) -> Answer:
    """The profile of an account with only the posts that have media."""
    return await _show(context, request, name, position, "media")


@api.get("/@<name>/tagged/<tag>", page=True)
async def show_tagged(context: HttpContext, request: Request, name: str, tag: str, position: ListPosition) -> Answer:
    """The profile of an account with its posts and replies that have a hashtag. Featured hashtags lead here."""
    return await _show(context, request, name, position, "with_replies", hashtag_named(tag))


async def _show(
    context: HttpContext, request: Request, name: str, position: ListPosition, tab: Tab, tag: str | None = None
) -> Answer:
    account = await find_local(context, name)
    ids = await posts_of(context, account, ANONYMOUS, part_of(account, tab, tag), position.page())
    posts = await visible_among(context, ids, ANONYMOUS)
    pinned = await pinned_of(context, account, ANONYMOUS) if tab == "posts" and position.is_first else []
    emojis = emojis_of(context, account)
    if tag is None:
        path = tab_path(account, tab)
        tabs = _tabs(account, tab)
    else:
        path = tagged_url(f"/@{account.username}", tag)
        tabs = [*_tabs(account, None), (f"#{spelling(tag, posts)}", path, True)]
    return await public_page(
        context,
        request,
        "profile.html",
        head=_head(context, account, path),
        account=account,
        person=byline(context, account),
        note_html=html_with_emojis(account.note, emojis),
        header=None if account.header_file is None else header_url(account, HERE),
        joined=shown_time(account.created_at, context.clock.now()),
        fields=_fields(account, emojis),
        moved=await _moved(context, account),
        tabs=tabs,
        pinned=posts_in(context, await visible_among(context, pinned, ANONYMOUS)),
        posts=posts_in(context, posts),
        around=neighbours(path, position, ids),
    )


def tab_path(account: Account, tab: Tab) -> str:
    """Return the path of a tab of the profile."""
    profile = f"/@{account.username}"
    return profile if tab == "posts" else f"{profile}/{tab}"


def part_of(account: Account, tab: Tab, tag: str | None = None) -> ProfilePart:
    """Return the statuses that a tab shows."""
    if tab == "media":
        return ProfilePart(only_media=True, exclude_replies=not account.show_media_replies)
    return ProfilePart(exclude_replies=tab == "posts", tagged=tag)


def _tabs(account: Account, tab: Tab | None) -> list[tuple[str, str, bool]]:
    """The name and the address of each tab, and whether it is the open one."""
    shown: list[tuple[str, Tab]] = [("Posts", "posts"), ("Posts and replies", "with_replies"), ("Media", "media")]
    return [(name, tab_path(account, one), one == tab) for name, one in shown if one != "media" or account.show_media]


def _head(context: HttpContext, account: Account, path: str) -> Head:
    base_url, handle = context.settings.base_url, f"@{account.username}@{context.settings.local_domain}"
    return Head(
        title=f"{name_of(account)} ({handle})",
        url=f"{base_url}{path}",
        description=shortened(plain(account.note), SUMMARY_CHARACTERS),
        kind="profile",
        images=(HeadImage(avatar_url(account, base_url), account.avatar_description),),
        handle=handle,
        feed=f"{base_url}{path}.rss",
        document=account.uri,
        noindex=not account.indexable,
    )


def _fields(account: Account, emojis: FindEmoji) -> list[JsonObject]:
    """Return the fields of the profile. Names and values are safe HTML."""
    return [
        {
            "name_html": text_with_emojis(field["name"], emojis),
            "value_html": html_with_emojis(field["value"], emojis),
            "verified": field.get("verified_at"),
        }
        for field in account.fields
    ]


async def _moved(context: HttpContext, account: Account) -> Byline | None:
    """Return the account that the account has moved to, if it is shown."""
    if account.moved_to_id is None:
        return None
    moved = await context.accounts.find(account.moved_to_id)
    if moved is None or not is_public(moved) or moved.suspended_at is not None:
        return None
    return byline(context, moved)
