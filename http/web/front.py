"""The pages about this server: the front page, the description, the privacy policy and the terms."""

from __future__ import annotations

from datetime import timedelta

import orjson

from ...actors.kernel.message import Address
from ...actors.memory.operator_texts import Terms
from ...actors.rules.markup import plain
from ...actors.rules.visibility import ANONYMOUS
from ...actors.shown.statuses import ShownStatus
from ...actors.timelines.public import PublicPage
from ...storage import instance
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.request import Request
from ..pages.times import shown_time
from ..router import api
from ..views.accounts import contact_account, is_public
from ..views.statuses import visible_among
from ..views.titles import SUMMARY_CHARACTERS, shortened
from .heads import Head, asks_not_to_be_indexed
from .layout import public_page
from .paging import ListPosition, neighbours
from .posts import Byline, byline, posts_in

LOCAL = Address("public", "local")
MONTH = timedelta(days=30)


@api.get("/", page=True)
async def show(context: HttpContext, request: Request, position: ListPosition) -> Answer:
    """The front page: the description, links to sign-up and sign-in, and the newest posts if previews are on."""
    settings, texts = context.settings, await context.operator_texts.current()
    ids, shown = await _timeline(context, request, position)
    head = Head(
        title=settings.title,
        url=f"{settings.base_url}/",
        description=shortened(settings.description, SUMMARY_CHARACTERS),
        noindex=asks_not_to_be_indexed(shown),
    )
    return await public_page(
        context,
        request,
        "front.html",
        head=head,
        description=settings.description,
        rules=texts.rules,
        approval=context.sign_ups.rule == "approval",
        is_first=position.is_first,
        preview=settings.shows_previews,
        posts=posts_in(context, shown),
        around=neighbours("/", position, ids),
    )


@api.get("/about", page=True)
async def show_about(context: HttpContext, request: Request) -> Answer:
    """The description of this server, its rules, and its contact."""
    settings, texts = context.settings, await context.operator_texts.current()
    description = shortened(settings.description or plain(texts.description.html), SUMMARY_CHARACTERS)
    return await public_page(
        context,
        request,
        "about.html",
        head=Head(f"About {settings.title}", f"{settings.base_url}/about", description),
        description_html=texts.description.html,
        rules=texts.rules,
        email=settings.contact_email,
        contact=await _contact(context),
        numbers=await _numbers(context),
    )


@api.get("/privacy", page=True)
async def show_privacy(context: HttpContext, request: Request) -> Answer:
    """The privacy policy of this server."""
    privacy = (await context.operator_texts.current()).privacy
    return await public_page(
        context,
        request,
        "document.html",
        head=Head("Privacy", f"{context.settings.base_url}/privacy"),
        text_html=privacy.html,
        changed=None if privacy.updated_at is None else shown_time(privacy.updated_at, context.clock.now()),
        terms=None,
    )


@api.get("/terms", page=True)
async def show_terms(context: HttpContext, request: Request) -> Answer:
    """The terms of service that are in force today."""
    return await _terms_page(
        context, request, (await context.operator_texts.current()).terms_on(context.clock.now().date()), "/terms"
    )


@api.get("/terms/<date>", page=True)
async def show_terms_of(context: HttpContext, request: Request, date: str) -> Answer:
    """The terms that come into force on a day."""
    terms = (await context.operator_texts.current()).terms
    found = next((version for version in terms if version.effective.isoformat() == date), None)
    return await _terms_page(context, request, found, f"/terms/{date}")


async def _terms_page(context: HttpContext, request: Request, terms: Terms | None, path: str) -> Answer:
    if terms is None:
        raise NotFound
    head = Head("Terms of service", f"{context.settings.base_url}{path}")
    return await public_page(
        context, request, "document.html", head=head, text_html=terms.html, changed=None, terms=terms
    )


async def _timeline(
    context: HttpContext, request: Request, position: ListPosition
) -> tuple[list[int], list[ShownStatus]]:
    """Return the ids of a page of the local timeline, and its visible statuses; nothing if previews are off."""
    if not context.settings.shows_previews:
        return [], []
    ids = await context.runtime.ask(LOCAL, PublicPage(position.page()), origin=request.origin)
    return ids, await visible_among(context, ids, ANONYMOUS)


async def _contact(context: HttpContext) -> Byline | None:
    account = await contact_account(context)
    if account is None or not is_public(account) or account.suspended_at is not None:
        return None
    return byline(context, account)


async def _numbers(context: HttpContext) -> dict[str, int]:
    """Return the numbers of users, of active users, and of posts. They are cached for some seconds."""

    async def make() -> bytes:
        counted = await context.database.read(instance.numbers, context.clock.now() - MONTH)
        return orjson.dumps({"users": counted.users, "active": counted.active, "statuses": counted.statuses})

    return orjson.loads(await context.kept.get("numbers of the about page", context.clock.now(), make))
