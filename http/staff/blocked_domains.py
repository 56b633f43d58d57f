"""The page of blocked domains: blocked, changed, unblocked, and lists of them as CSV, in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import trio

from ...actors.blocklists import UnreadableList, as_csv, decode, own_lines, read_list
from ...actors.commands.blocked_domains import (
    ChangeDomainBlock,
    DomainTerms,
    ImposeDomainBlock,
    ImposeListedBlocks,
    LiftDomainBlock,
    ListedBlock,
    strictest,
)
from ...actors.kernel import Refused
from ...actors.rules.identity import pasted_domain
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...actors.rules.wording import number_of
from ...storage import blocked_domains
from ..access.context import HttpContext, find_row
from ..admin.blocked_domains import DomainBlockParameters
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.decoding import Upload
from ..intake.paging import Paged
from ..intake.parameters import MaybeUpload, Text
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import DangerousForm, Question, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_FEDERATION
PATH = "/admin/domains"
LARGEST_FILE = 512 * 1024
LARGEST_FORM = 2 * LARGEST_FILE  # a file of an answer to the first form is sent again as a field
# All are blocked in one transaction, each with an entry in the audit log, while the browser waits.
MOST_AT_ONCE = 500
SHOWN_LINES = 50
SEVERITIES = [
    ("silence", "Limit: seen by followers alone"),
    ("suspend", "Suspend: no contact, its accounts are hidden"),
    ("noop", "Neither: only what is ticked below"),
]
SUSPENDS = "Follows between this server and that one end, and its accounts are hidden until the block ends."
DONE = {
    "blocked": "The domain is blocked.",
    "changed": "The block was changed.",
    "unblocked": "The block is ended.",
    "imported": "The domains of the list are blocked.",
}


class DomainQuery(Paged, Done):
    """A page of blocks."""


class BlockForm(DangerousForm, DomainBlockParameters):
    """A new block, or changes of one. A box that is not ticked is not sent, and means no."""

    domain: Text = ""

    def repeated(self) -> list[tuple[str, str]]:
        """The fields, for the form that asks for the password."""
        fields = {
            "domain": self.domain, "severity": self.severity, "private_comment": self.private_comment,
            "public_comment": self.public_comment,
        }  # fmt: skip
        ticked = {"reject_media": self.reject_media, "reject_reports": self.reject_reports, "obfuscate": self.obfuscate}
        texts = [(name, value) for name, value in fields.items() if value]
        return [*texts, *((name, "true" if value else "false") for name, value in ticked.items())]


class ListForm(DangerousForm):
    file: MaybeUpload = None
    csv: Text = ""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: DomainQuery) -> Answer:
    """Show the blocks, the newest first, and the forms that make some."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.get("/admin/domains.csv", page=True)
async def export(context: HttpContext, request: Request) -> Answer:
    """Send all blocks as a CSV file."""
    await staff_member(context, request, PERMISSION)
    text = as_csv(await context.database.read(blocked_domains.find_all))
    headers = (("Content-Disposition", 'attachment; filename="blocked_domains.csv"'),)
    return Answer(text.encode(), 200, headers, "text/csv; charset=utf-8")


@api.post(PATH, page=True)
async def block(context: HttpContext, request: Request, posted: BlockForm) -> Answer:
    """Block a domain."""
    me = await staff_sender(context, request, posted, PERMISSION)
    domain = pasted_domain(posted.domain)
    if domain is None:
        return await _page(me, problem="Name the domain of another server.", typed=posted)
    if (asking := await _asked(me, posted, f"Suspend {domain}")) is not None:
        return asking
    try:
        imposed = await me.ask(ImposeDomainBlock(me.staff, domain, posted.terms()))
    except (HttpError, Refused) as error:
        return await _page(me, problem=sentence_of(error), typed=posted)
    if not imposed.is_new:
        return await _page(me, problem=f"{imposed.block.domain} is blocked as strictly already.", typed=posted)
    return redirect(with_done(PATH, "blocked"))


@api.get(f"{PATH}/<id>", page=True)
async def show_one(context: HttpContext, request: Request, id: int) -> Answer:
    """Show a block with the forms that change and end it."""
    return await _page_of(await staff_member(context, request, PERMISSION), id)


@api.post(f"{PATH}/<id>", page=True)
async def change(context: HttpContext, request: Request, id: int, posted: BlockForm) -> Answer:
    """Change a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    if (asking := await _asked(me, posted, "Suspend this domain")) is not None:
        return asking
    try:
        await me.ask(ChangeDomainBlock(me.staff, id, _whole(posted.terms())))
    except (HttpError, Refused) as error:
        return await _page_of(me, id, sentence_of(error))
    return redirect(with_done(PATH, "changed"))


@api.post(f"{PATH}/<id>/unblock", page=True)
async def unblock(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """End a block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(LiftDomainBlock(me.staff, id))
    return redirect(with_done(PATH, "unblocked")) if problem is None else await _page(me, problem=problem)


@api.post(f"{PATH}/import", page=True, body_limit=LARGEST_FORM)
async def import_list(context: HttpContext, request: Request, posted: ListForm) -> Answer:
    """Block the domains of a CSV file. The first form leads to what it would block."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        text = posted.csv or _text(posted.file)
        lines = await trio.to_thread.run_sync(read_list, text)  # a second for the longest list
        new = await _new(me, lines)
    except UnreadableList as error:
        return await _page(me, problem=str(error))
    if not new:
        return await _page(me, problem="The list has no domain that is not blocked already.")
    names = [f"{one.domain} ({one.terms.severity})" for one in new[:SHOWN_LINES]]
    more = f" and {len(new) - SHOWN_LINES} more" if len(new) > SHOWN_LINES else ""
    left_out = [
        f" {name} is left out: it is the domain of this server."
        for name in own_lines(lines, context.settings.local_domain)
    ]
    warning = f"{', '.join(names)}{more}.{''.join(left_out)}"
    question = Question(f"Block {number_of(len(new), 'domains')}", warning, "Block them", PATH)
    if (asking := await me.confirmed(posted, question, [("csv", text)])) is not None:
        return asking
    problem = await me.attempt(ImposeListedBlocks(me.staff, tuple(new)))
    return redirect(with_done(PATH, "imported")) if problem is None else await _page(me, problem=problem)


async def _new(me: StaffMember, lines: Sequence[ListedBlock]) -> list[ListedBlock]:
    """Return the lines whose domains are not blocked, each once. Raises UnreadableList for too many."""
    known = {one.domain for one in await me.context.database.read(blocked_domains.find_all)}
    known.update(own_lines(lines, me.context.settings.local_domain))
    new = {line.domain: line for line in strictest(lines) if line.domain not in known}
    if len(new) > MOST_AT_ONCE:
        raise UnreadableList(f"More than {MOST_AT_ONCE} domains are new. `troupe domains import` takes any number.")
    return list(new.values())


async def _asked(me: StaffMember, posted: BlockForm, title: str) -> Answer | None:
    """Return the page that asks for the password, if the block suspends and the form has none."""
    if posted.severity != "suspend":
        return None
    return await me.confirmed(posted, Question(title, SUSPENDS, "Suspend", PATH), posted.repeated())


def _whole(terms: DomainTerms) -> DomainTerms:
    """Return terms that say everything."""
    return replace(
        terms,
        reject_media=bool(terms.reject_media),
        reject_reports=bool(terms.reject_reports),
        obfuscate=bool(terms.obfuscate),
    )


def _text(file: Upload | None) -> str:
    """Return the text of an upload. Raises UnreadableList."""
    if file is None or file.size == 0:
        raise UnreadableList("Choose a file.")
    with file.file:
        content = file.file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise UnreadableList(f"The file is larger than {LARGEST_FILE // 1024} KB. `troupe domains import` takes it.")
    return decode(content)


async def _page_of(me: StaffMember, id: int, problem: str | None = None) -> Answer:
    found = await find_row(me.context, blocked_domains.find, id)
    return me.page("domain.html", problem=problem, block=found, severities=SEVERITIES, most=BLOCK_COMMENT_CHARACTERS)


async def _page(
    me: StaffMember, wanted: DomainQuery | None = None, *, typed: BlockForm | None = None,
    **facts: Any,  # of a template
) -> Answer:  # fmt: skip
    page = (wanted or DomainQuery()).page(ON_A_PAGE)
    found = await me.context.database.read(blocked_domains.page, page)
    return me.page(
        "domains.html",
        typed=typed or BlockForm(),
        severities=SEVERITIES,
        most=BLOCK_COMMENT_CHARACTERS,
        blocks=found,
        page_links=page_links(me.request, page, [one.id for one in found]),
        **facts,
    )
