"""The pages of blocked e-mail addresses and blocked e-mail domains, which may not sign up.

Addresses are stored as hashes of their canonical form.
"""

from __future__ import annotations

from datetime import UTC, timedelta

from ...actors.commands.blocked_emails import BlockEmail, BlockEmailDomain, UnblockEmail, UnblockEmailDomain
from ...actors.rules.limits import EMAIL_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import blocked_emails, server_blocks
from ...storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from ..admin.server_blocks import HASH, EmailDomain, hash_of
from ..answers.answer import Answer
from ..entities.server_block import DAYS
from ..intake.parameters import Text
from .member import StaffForm, StaffMember
from .staff_page import Facts, ListQuery, StaffPage, listed

EMAILS = StaffPage(
    "/admin/emails",
    Permission.MANAGE_BLOCKS,
    {"blocked": "The address is blocked, in all its spellings.", "unblocked": "The block is ended."},
)
DOMAINS = StaffPage(
    "/admin/email_domains",
    Permission.MANAGE_BLOCKS,
    {"blocked": "The domain is blocked.", "unblocked": "The block is ended."},
)


class EmailForm(StaffForm):
    """An e-mail address, or the hash of an address, for example from another server."""

    email: Text = ""

    def hash(self) -> bytes:
        written = self.email.strip()
        return bytes.fromhex(written) if HASH.fullmatch(written) else hash_of(written)


class EmailDomainForm(StaffForm, EmailDomain):
    """A new block of a domain."""


@EMAILS.get("emails.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the blocks, the newest first, and the forms that add a block and test an address."""
    found, links = await listed(me, wanted, server_blocks.page, BlockedEmail)
    return {
        "typed": EmailForm(), "tested": EmailForm(), "marked": None, "blocks": found, "most": EMAIL_CHARACTERS,
        "page_links": links,
    }  # fmt: skip


@EMAILS.post(typed="typed")
async def block(me: StaffMember, posted: EmailForm) -> str:
    """Block an address."""
    await me.ask(BlockEmail(me.staff, posted.hash()))
    return "blocked"


@EMAILS.post("/test", typed="tested")
async def test(me: StaffMember, posted: EmailForm) -> Answer:
    """Show if an address is blocked. The address is in a form, so that no log of URLs has it."""
    found = await me.context.database.read(server_blocks.find_by_key, BlockedEmail, posted.hash())
    words = "This address is not blocked." if found is None else "This address is blocked."
    facts: Facts = {"done": words, "tested": posted, "marked": found}
    return me.page("emails.html", **(await show(me, ListQuery()) | facts))


@EMAILS.post("/<id>/unblock")
async def unblock(me: StaffMember, id: int, posted: StaffForm) -> str:
    """End a block."""
    await me.ask(UnblockEmail(me.staff, id))
    return "unblocked"


@DOMAINS.get("email_domains.html")
async def show_domains(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the blocks of domains, the newest first, with their attempts, and the form that adds a block."""
    found, links = await listed(me, wanted, server_blocks.page, BlockedEmailDomain)
    ids = [block.id for block in found]
    since = me.context.clock.now().astimezone(UTC).date() - timedelta(days=DAYS - 1)
    history = await me.context.database.read(blocked_emails.history, ids, since)
    attempts = {id: sum(uses for (blocked, _), (_, uses) in history.items() if blocked == id) for id in ids}
    blocks = [(block, attempts[block.id]) for block in found]
    return {"typed": EmailDomainForm(), "blocks": blocks, "days": DAYS, "page_links": links}


@DOMAINS.post(typed="typed")
async def block_domain(me: StaffMember, posted: EmailDomainForm) -> str:
    """Block a domain."""
    await me.ask(BlockEmailDomain(me.staff, posted.name(), posted.allow_with_approval))
    return "blocked"


@DOMAINS.post("/<id>/unblock")
async def unblock_domain(me: StaffMember, id: int, posted: StaffForm) -> str:
    """End a block of a domain."""
    await me.ask(UnblockEmailDomain(me.staff, id))
    return "unblocked"
