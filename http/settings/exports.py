"""The files that a user can export, in Mastodon's formats."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from ...storage import exports
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.request import Request
from ..router import api
from .signed_in import signed_in

ROWS_AT_ONCE = 500
CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A kind of file, with its heading. Files without a heading have none in Mastodon either."""

    kind: str
    words: str
    heading: tuple[str, ...] = ()


FILES = {
    "following_accounts.csv": ExportedFile(
        "following",
        "Accounts that you follow",
        ("Account address", "Show boosts", "Notify on new posts", "Languages"),
    ),
    "lists.csv": ExportedFile("lists", "Your lists"),
    "blocked_accounts.csv": ExportedFile("blocks", "Accounts that you block"),
    "muted_accounts.csv": ExportedFile("mutes", "Accounts that you mute", ("Account address", "Hide notifications")),
    "blocked_domains.csv": ExportedFile("domain_blocks", "Domains that you block"),
    "bookmarks.csv": ExportedFile("bookmarks", "Your bookmarks"),
}


@api.get("/settings/export", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the links to the files."""
    return (await signed_in(context, request)).page("export.html", files=FILES)


@api.get("/settings/exports/<name>", page=True)
async def download(context: HttpContext, request: Request, name: str) -> Answer:
    """Send a file. It is read from the database in parts."""
    me = await signed_in(context, request)
    file = FILES.get(name)
    if file is None:
        raise NotFound("Not Found")
    headers = (("Content-Disposition", f'attachment; filename="{name}"'),)
    if request.method == "HEAD":
        return Answer(b"", 200, headers, CSV)
    account_id = me.user.account_id
    return Answer(b"", 200, headers, CSV, stream=lambda: _lines(context, file, account_id))


async def _lines(context: HttpContext, file: ExportedFile, account_id: int) -> AsyncIterator[bytes]:
    if file.heading:
        yield as_csv([file.heading])
    after: int | None = 0
    while after is not None:
        part = await context.database.read(
            exports.part, file.kind, account_id, after, ROWS_AT_ONCE, context.settings.local_domain
        )  # fmt: skip
        after = part.cursor
        yield as_csv(part.rows)


def as_csv(rows: Sequence[Sequence[str]]) -> bytes:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
