"""The pages of blocked domains, with import and export as CSV, and of allowed domains.

With limited federation the server only exchanges activities with allowed domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import trio

from ...actors import blocklists
from ...actors.blocklists import UnreadableList
from ...actors.commands.blocked_domains import (
    AllowDomain,
    ChangeDomainBlock,
    DisallowDomain,
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
from ...storage import server_blocks
from ...storage.blocked_domains import AllowedDomain, BlockedDomain
from ..access.context import HttpContext, find_row
from ..admin.server_blocks import DomainBlockParameters
from ..answers.answer import Answer
from ..intake.decoding import Upload
from ..intake.parameters import Domain, MaybeUpload, Text
from ..intake.request import Request
from ..router import api
from .member import DangerousForm, Question, StaffForm, StaffMember, staff_member
from .staff_page import Facts, ListQuery, StaffPage, listed

PATH = "/admin/domains"
ALLOWED_PATH = "/admin/allowed_domains"
LARGEST_FILE = 512 * 1024
LARGEST_FORM = 2 * LARGEST_FILE  # the form for the password repeats the file as a field
# Domains of an import. All are blocked in one transaction, with entries in the audit log, while the browser waits.
MOST_AT_ONCE = 500
SHOWN_LINES = 50
SEVERITIES = [
    ("silence", "Limit: seen by followers alone"),
    ("suspend", "Suspend: no contact, its accounts are hidden"),
    ("noop", "Neither: only what is ticked below"),
]
SUSPENDS = "Follows between this server and that one end, and its accounts are hidden until the block ends."
NOT_ALLOWED = "Its accounts are hidden and nothing is exchanged with it until it is allowed again."
NOT_LIMITED = "Federation is not limited: the server deals with every domain that is not blocked."
DONE = {
    "blocked": "The domain is blocked.",
    "changed": "The block was changed.",
    "unblocked": "The block is ended.",
    "imported": "The domains of the list are blocked.",
}
BLOCKED = StaffPage(PATH, Permission.MANAGE_FEDERATION, DONE)
BLOCK = StaffPage(f"{PATH}/<id>", Permission.MANAGE_FEDERATION)
ALLOWED = StaffPage(
    ALLOWED_PATH,
    Permission.MANAGE_FEDERATION,
    {"allowed": "The domain is allowed.", "disallowed": "The domain is allowed no more."},
)


class BlockForm(DangerousForm, DomainBlockParameters):
    """A new block, or changes of a block. Browsers do not send unchecked boxes, so a missing flag is False."""

    domain: Text = ""

    def repeated(self) -> list[tuple[str, str]]:
        """Return the fields, which the form for the password repeats."""
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


class AllowForm(StaffForm, Domain):
    """A domain to allow."""


@BLOCKED.get("domains.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the blocks, the newest first, and the forms for new blocks."""
    found, links = await listed(me, wanted, server_blocks.page, BlockedDomain)
    return {
        "typed": BlockForm(), "severities": SEVERITIES, "most": BLOCK_COMMENT_CHARACTERS, "blocks": found,
        "page_links": links,
    }  # fmt: skip


@api.get("/admin/domains.csv", page=True)
async def export(context: HttpContext, request: Request) -> Answer:
    """Send all blocks as a CSV file."""
    await staff_member(context, request, Permission.MANAGE_FEDERATION)
    text = blocklists.as_csv(await context.database.read(server_blocks.find_all, BlockedDomain))
    headers = (("Content-Disposition", 'attachment; filename="blocked_domains.csv"'),)
    return Answer(text.encode(), 200, headers, "text/csv; charset=utf-8")


@BLOCKED.post(typed="typed")
async def block(me: StaffMember, posted: BlockForm) -> str:
    """Block a domain."""
    domain = pasted_domain(posted.domain)
    if domain is None:
        raise Refused(422, "Name the domain of another server.")
    await _confirm(me, posted, f"Suspend {domain}")
    imposed = await me.ask(ImposeDomainBlock(me.staff, domain, posted.terms()))
    if not imposed.is_new:
        raise Refused(422, f"{imposed.block.domain} is blocked as strictly already.")
    return "blocked"


@BLOCKED.post("/<id>/unblock")
async def unblock(me: StaffMember, id: int, posted: DangerousForm) -> str:
    """End a block."""
    await me.ask(LiftDomainBlock(me.staff, id))
    return "unblocked"


@BLOCKED.post("/import", body_limit=LARGEST_FORM)
async def import_list(me: StaffMember, posted: ListForm) -> str:
    """Block the domains of a CSV file. The page for the password first lists the new blocks."""
    own = me.context.settings.local_domain
    try:
        text = posted.csv or _text(posted.file)
        lines = await trio.to_thread.run_sync(blocklists.read_list, text)  # takes a second for the longest list
        new = await _new(me, lines)
    except UnreadableList as error:
        raise Refused(422, str(error)) from None
    if not new:
        raise Refused(422, "The list has no domain that is not blocked already.")
    names = [f"{line.domain} ({line.terms.severity})" for line in new[:SHOWN_LINES]]
    more = f" and {len(new) - SHOWN_LINES} more" if len(new) > SHOWN_LINES else ""
    left_out = [f" {name} is left out: it is the domain of this server." for name in blocklists.own_lines(lines, own)]
    warning = f"{', '.join(names)}{more}.{''.join(left_out)}"
    question = Question(f"Block {number_of(len(new), 'domains')}", warning, "Block them", PATH)
    await me.confirm(posted, question, [("csv", text)])
    await me.ask(ImposeListedBlocks(me.staff, tuple(new)))
    return "imported"


@BLOCK.get("domain.html")
async def show_one(me: StaffMember, id: int) -> Facts:
    """Show a block with the forms that change and end it."""
    found = await find_row(me.context, server_blocks.find, BlockedDomain, id)
    return {"block": found, "severities": SEVERITIES, "most": BLOCK_COMMENT_CHARACTERS}


@BLOCK.post()
async def change(me: StaffMember, id: int, posted: BlockForm) -> Answer:
    """Change a block."""
    await _confirm(me, posted, "Suspend this domain")
    await me.ask(ChangeDomainBlock(me.staff, id, _whole(posted.terms())))
    return BLOCKED.after("changed")


@ALLOWED.get("allowed_domains.html")
async def show_allowed(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the allowed domains, the newest first, and the form that allows a domain."""
    found, links = await listed(me, wanted, server_blocks.page, AllowedDomain)
    note = None if me.context.settings.limited_federation else NOT_LIMITED
    return {"typed": AllowForm(), "domains": found, "note": note, "page_links": links}


@ALLOWED.post(typed="typed")
async def allow(me: StaffMember, posted: AllowForm) -> str:
    """Allow a domain."""
    await me.ask(AllowDomain(me.staff, posted.name()))
    return "allowed"


@ALLOWED.post("/<id>/disallow")
async def disallow(me: StaffMember, id: int, posted: DangerousForm) -> str:
    """Remove a domain from the allowed domains."""
    found = await find_row(me.context, server_blocks.find, AllowedDomain, id)
    warning = NOT_ALLOWED if me.context.settings.limited_federation else NOT_LIMITED
    await me.confirm(posted, Question(f"Allow {found.domain} no more", warning, "Allow no more", ALLOWED_PATH))
    await me.ask(DisallowDomain(me.staff, id))
    return "disallowed"


async def _new(me: StaffMember, lines: Sequence[ListedBlock]) -> list[ListedBlock]:
    """Return a line for each domain that is not blocked. Raises UnreadableList for too many."""
    known = {block.domain for block in await me.context.database.read(server_blocks.find_all, BlockedDomain)}
    known.update(blocklists.own_lines(lines, me.context.settings.local_domain))
    new = {line.domain: line for line in strictest(lines) if line.domain not in known}
    if len(new) > MOST_AT_ONCE:
        raise UnreadableList(f"More than {MOST_AT_ONCE} domains are new. `troupe domains import` takes any number.")
    return list(new.values())


async def _confirm(me: StaffMember, posted: BlockForm, title: str) -> None:
    """Require the password if the block suspends."""
    if posted.severity == "suspend":
        await me.confirm(posted, Question(title, SUSPENDS, "Suspend", PATH), posted.repeated())


def _whole(terms: DomainTerms) -> DomainTerms:
    """Return the terms with False for missing flags."""
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
    return blocklists.decode(content)
