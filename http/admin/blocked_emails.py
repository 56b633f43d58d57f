"""The e-mail addresses that may not sign up, as hashes of their canonical form."""

from __future__ import annotations

import re

from ...actors.commands.blocked_emails import BlockEmail, UnblockEmail
from ...actors.rules.mailboxes import canonical_hash, is_mailbox, spelled
from ...actors.rules.roles import Permission
from ...storage import blocked_emails
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.server_block import blocked_email_fields
from ..intake.paging import Paged
from ..intake.parameters import Given, Input, Text
from ..intake.request import Request
from ..router import api
from ..views.staff import page_of_rows, staff_of

READ = ("admin:read:canonical_email_blocks",)
WRITE = ("admin:write:canonical_email_blocks",)
PERMISSION = Permission.MANAGE_BLOCKS
HASH = re.compile(r"[0-9a-fA-F]{64}")


class TestedEmail(Input):
    email: Given


class EmailToBlock(Input):
    email: Text = ""
    canonical_email_hash: Text = ""

    def hash(self) -> bytes:
        """The hash: of the address, else the one that is given."""
        if self.email.strip():
            return hash_of(self.email)
        if not self.canonical_email_hash:
            raise invalid("Canonical email hash can't be blank")
        if not HASH.fullmatch(self.canonical_email_hash):
            raise invalid("Canonical email hash is invalid")
        return bytes.fromhex(self.canonical_email_hash)


def hash_of(email: str) -> bytes:
    """Return the hash of an address. Its domain need not exist."""
    if not is_mailbox(spelled(email)):
        raise invalid("Email is invalid")
    return canonical_hash(email)


@api.get("/api/v1/admin/canonical_email_blocks", auth="user", scopes=READ, permission=PERMISSION)
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    return await page_of_rows(context, request, paged, blocked_emails.page, blocked_email_fields)


@api.get("/api/v1/admin/canonical_email_blocks/<id>", auth="user", scopes=READ, permission=PERMISSION)
async def show(context: HttpContext, id: int) -> Answer:
    found = await find_row(context, blocked_emails.find, id)
    return json(blocked_email_fields(found))


@api.post("/api/v1/admin/canonical_email_blocks/test", auth="user", scopes=READ, permission=PERMISSION)
async def test(context: HttpContext, tested: TestedEmail) -> Answer:
    """The blocks of an address: one or none."""
    found = await context.database.read(blocked_emails.find_by_hash, hash_of(tested.email))
    return json([] if found is None else [blocked_email_fields(found)])


@api.post("/api/v1/admin/canonical_email_blocks", auth="user", scopes=WRITE, permission=PERMISSION)
async def block(context: HttpContext, viewer: Viewer, wanted: EmailToBlock) -> Answer:
    message = BlockEmail(await staff_of(context, viewer), wanted.hash())
    return json(blocked_email_fields(await viewer.ask(message)))


@api.delete("/api/v1/admin/canonical_email_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def unblock(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(UnblockEmail(await staff_of(context, viewer), id))
    return EMPTY
