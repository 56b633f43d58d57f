"""The page of the e-mail addresses that may not sign up. They are kept as hashes of their canonical form."""

from __future__ import annotations

from typing import Any

from ...actors.commands.blocked_emails import TAKEN, BlockEmail, UnblockEmail
from ...actors.kernel import Refused
from ...actors.rules.limits import EMAIL_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import blocked_emails
from ...storage.blocked_emails import BlockedEmail
from ..access.context import HttpContext
from ..admin.blocked_emails import HASH, hash_of
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.paging import Paged
from ..intake.parameters import Text
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_BLOCKS
PATH = "/admin/emails"
DONE = {"blocked": "The address is blocked, in all its spellings.", "unblocked": "The block is ended."}


class EmailQuery(Paged, Done):
    """A page of blocks."""


class EmailForm(StaffForm):
    """An address, or the hash of one, which another server may have told."""

    email: Text = ""

    def hash(self) -> bytes:
        written = self.email.strip()
        return bytes.fromhex(written) if HASH.fullmatch(written) else hash_of(written)


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: EmailQuery) -> Answer:
    """Show the blocks, the newest first, and the forms that make one and look for one."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(PATH, page=True)
async def block(context: HttpContext, request: Request, posted: EmailForm) -> Answer:
    """Block an address."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        await me.ask(BlockEmail(me.staff, posted.hash()))
    except (HttpError, Refused) as error:
        problem = "This address is blocked already." if error == TAKEN else sentence_of(error)
        return await _page(me, problem=problem, typed=posted.email)
    return redirect(with_done(PATH, "blocked"))


@api.post(f"{PATH}/test", page=True)
async def test(context: HttpContext, request: Request, posted: EmailForm) -> Answer:
    """Say if an address is blocked. It is sent as a form, so that no log of addresses has it."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        found = await context.database.read(blocked_emails.find_by_hash, posted.hash())
    except HttpError as error:
        return await _page(me, problem=sentence_of(error), tested=posted.email)
    words = "This address is not blocked." if found is None else "This address is blocked."
    return await _page(me, tested=posted.email, done=words, marked=found)


@api.post(f"{PATH}/<id>/unblock", page=True)
async def unblock(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """End a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(UnblockEmail(me.staff, id))
    return redirect(with_done(PATH, "unblocked")) if problem is None else await _page(me, problem=problem)


async def _page(
    me: StaffMember,
    wanted: EmailQuery | None = None,
    *,
    typed: str = "",
    tested: str = "",
    marked: BlockedEmail | None = None,
    **facts: Any,  # of a template
) -> Answer:
    page = (wanted or EmailQuery()).page(ON_A_PAGE)
    found = await me.context.database.read(blocked_emails.page, page)
    return me.page(
        "emails.html",
        typed=typed,
        tested=tested,
        marked=marked,
        blocks=found,
        most=EMAIL_CHARACTERS,
        page_links=page_links(me.request, page, [one.id for one in found]),
        **facts,
    )
