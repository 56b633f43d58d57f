"""The page of the e-mail domains that may not sign up, with the number of tries."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from ...actors.commands.blocked_email_domains import BlockEmailDomain, UnblockEmailDomain
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage import blocked_email_domains
from ..access.context import HttpContext
from ..admin.blocked_email_domains import EmailDomain
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..entities.server_block import DAYS
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_BLOCKS
PATH = "/admin/email_domains"
DONE = {"blocked": "The domain is blocked.", "unblocked": "The block is ended."}


class EmailDomainQuery(Paged, Done):
    """A page of blocks."""


class EmailDomainForm(StaffForm, EmailDomain):
    """A new block."""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: EmailDomainQuery) -> Answer:
    """Show the blocks, the newest first, and the form that makes one."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(PATH, page=True)
async def block(context: HttpContext, request: Request, posted: EmailDomainForm) -> Answer:
    """Block a domain."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        await me.ask(BlockEmailDomain(me.staff, posted.name(), posted.allow_with_approval))
    except (HttpError, Refused) as error:
        return await _page(me, problem=sentence_of(error), typed=posted)
    return redirect(with_done(PATH, "blocked"))


@api.post(f"{PATH}/<id>/unblock", page=True)
async def unblock(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """End a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(UnblockEmailDomain(me.staff, id))
    return redirect(with_done(PATH, "unblocked")) if problem is None else await _page(me, problem=problem)


async def _page(
    me: StaffMember, wanted: EmailDomainQuery | None = None, *, typed: EmailDomainForm | None = None,
    **facts: Any,  # of a template
) -> Answer:  # fmt: skip
    database, page = me.context.database, (wanted or EmailDomainQuery()).page(ON_A_PAGE)
    found = await database.read(blocked_email_domains.page, page)
    ids = [one.id for one in found]
    since = me.context.clock.now().astimezone(UTC).date() - timedelta(days=DAYS - 1)
    history = await database.read(blocked_email_domains.history, ids, since)
    attempts = {id: sum(uses for (block, _), (_, uses) in history.items() if block == id) for id in ids}
    return me.page(
        "email_domains.html",
        typed=typed or EmailDomainForm(),
        blocks=[(one, attempts[one.id]) for one in found],
        days=DAYS,
        page_links=page_links(me.request, page, ids),
        **facts,
    )
