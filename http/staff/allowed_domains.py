"""The page of allowed domains: with limited federation the server deals with no others."""

from __future__ import annotations

from typing import Any

from ...actors.commands.allowed_domains import AllowDomain, DisallowDomain
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage import allowed_domains
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.paging import Paged
from ..intake.parameters import Domain
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import DangerousForm, Question, StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_FEDERATION
PATH = "/admin/allowed_domains"
SUSPENDS = "Its accounts are hidden and nothing is exchanged with it until it is allowed again."
HAS_NO_EFFECT = "Federation is not limited: the server deals with every domain that is not blocked."
DONE = {"allowed": "The domain is allowed.", "disallowed": "The domain is allowed no more."}


class AllowedQuery(Paged, Done):
    """A page of allowed domains."""


class AllowForm(StaffForm, Domain):
    """A domain to allow."""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: AllowedQuery) -> Answer:
    """Show the allowed domains, the newest first, and the form that allows one."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(PATH, page=True)
async def allow(context: HttpContext, request: Request, posted: AllowForm) -> Answer:
    """Allow a domain."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        await me.ask(AllowDomain(me.staff, posted.name()))
    except (HttpError, Refused) as error:
        return await _page(me, problem=sentence_of(error), typed=posted.domain)
    return redirect(with_done(PATH, "allowed"))


@api.post(f"{PATH}/<id>/disallow", page=True)
async def disallow(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Allow a domain no more."""
    me = await staff_sender(context, request, posted, PERMISSION)
    found = await find_row(context, allowed_domains.find, id)
    warning = SUSPENDS if context.settings.limited_federation else HAS_NO_EFFECT
    question = Question(f"Allow {found.domain} no more", warning, "Allow no more", PATH)
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    problem = await me.attempt(DisallowDomain(me.staff, id))
    return redirect(with_done(PATH, "disallowed")) if problem is None else await _page(me, problem=problem)


# `Any`: facts of a template.
async def _page(me: StaffMember, wanted: AllowedQuery | None = None, *, typed: str = "", **facts: Any) -> Answer:
    page = (wanted or AllowedQuery()).page(ON_A_PAGE)
    found = await me.context.database.read(allowed_domains.page, page)
    return me.page(
        "allowed_domains.html",
        typed=typed,
        domains=found,
        note=None if me.context.settings.limited_federation else HAS_NO_EFFECT,
        page_links=page_links(me.request, page, [one.id for one in found]),
        **facts,
    )
