"""The page of blocked networks and addresses: blocked, changed, unblocked."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from ...actors.commands.blocked_networks import BlockNetwork, ChangeNetworkBlock, NetworkTerms, UnblockNetwork
from ...actors.kernel import Refused
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import blocked_networks
from ..access.context import HttpContext, find_row
from ..admin.blocked_networks import NetworkBlockParameters, kept_addresses
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.paging import Paged
from ..intake.parameters import Choice
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_BLOCKS
PATH = "/admin/networks"
DAY = 86_400  # seconds
SEVERITIES = [
    ("sign_up_requires_approval", "Sign-ups wait for approval"),
    ("sign_up_block", "No sign-ups"),
    ("no_access", "No access at all"),
]
# Seconds until the end. None: as it is; 0: never.
ENDS = {"kept": None, "never": 0, "day": DAY, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}
END_WORDS = [
    ("never", "Never"),
    ("day", "In a day"),
    ("week", "In a week"),
    ("month", "In a month"),
    ("year", "In a year"),
]
DONE = {
    "blocked": "The network is blocked.",
    "changed": "The block was changed.",
    "unblocked": "The block is ended.",
}


class NetworkQuery(Paged, Done):
    """A page of blocks."""


class NetworkForm(StaffForm, NetworkBlockParameters):
    """A new block, or changes of one."""

    ends: Annotated[Literal["kept", "never", "day", "week", "month", "year"], Choice] = "kept"

    def wanted(self) -> NetworkTerms:
        """Return the terms. Raises HttpError for those that can't be."""
        return replace(self.terms(), expires_in=ENDS[self.ends])


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: NetworkQuery) -> Answer:
    """Show the blocks, the newest first, and the form that makes one."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(PATH, page=True)
async def block(context: HttpContext, request: Request, posted: NetworkForm) -> Answer:
    """Block a network, or one address."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        terms = posted.wanted()
        if terms.network is None:
            return await _page(me, problem="Name an address or a network.", typed=posted)
        await me.ask(BlockNetwork(me.staff, terms.network, terms, kept_addresses(context, request)))
    except (HttpError, Refused) as error:
        return await _page(me, problem=_sentence(error), typed=posted)
    return redirect(with_done(PATH, "blocked"))


@api.get(f"{PATH}/<id>", page=True)
async def show_one(context: HttpContext, request: Request, id: int) -> Answer:
    """Show a block with the forms that change and end it."""
    return await _page_of(await staff_member(context, request, PERMISSION), id)


@api.post(f"{PATH}/<id>", page=True)
async def change(context: HttpContext, request: Request, id: int, posted: NetworkForm) -> Answer:
    """Change a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        await me.ask(ChangeNetworkBlock(me.staff, id, posted.wanted(), kept_addresses(context, request)))
    except (HttpError, Refused) as error:
        return await _page_of(me, id, _sentence(error))
    return redirect(with_done(PATH, "changed"))


@api.post(f"{PATH}/<id>/unblock", page=True)
async def unblock(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """End a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(UnblockNetwork(me.staff, id))
    return redirect(with_done(PATH, "unblocked")) if problem is None else await _page(me, problem=problem)


def _sentence(error: HttpError | Refused) -> str:
    return sentence_of(error).replace("Ip ", "The network ", 1)


async def _page_of(me: StaffMember, id: int, problem: str | None = None) -> Answer:
    return me.page(
        "network.html", problem=problem, block=await find_row(me.context, blocked_networks.find, id),
        severities=SEVERITIES, ends=[("kept", "As it is"), *END_WORDS], most=BLOCK_COMMENT_CHARACTERS,
    )  # fmt: skip


async def _page(
    me: StaffMember, wanted: NetworkQuery | None = None, *, typed: NetworkForm | None = None,
    **facts: Any,  # of a template
) -> Answer:  # fmt: skip
    page = (wanted or NetworkQuery()).page(ON_A_PAGE)
    found = await me.context.database.read(blocked_networks.page, page)
    now = me.context.clock.now()
    return me.page(
        "networks.html",
        typed=typed or NetworkForm(),
        severities=SEVERITIES,
        severity_words=dict(SEVERITIES),
        ends=END_WORDS,
        most=BLOCK_COMMENT_CHARACTERS,
        blocks=[(one, one.expires_at is not None and one.expires_at <= now) for one in found],
        page_links=page_links(me.request, page, [one.id for one in found]),
        **facts,
    )
