"""The page that imports a file, with the progress of earlier imports, and the lines that failed."""

from __future__ import annotations

from typing import Annotated, Literal

import trio

from ...actors.commands.imports import StartImport
from ...actors.kernel import Refused
from ...actors.rules import imports as rules
from ...actors.rules.csv_files import UnreadableFile
from ...actors.rules.imports import ImportedLine, lines_of
from ...storage import imports
from ...storage.imports import ImportLine
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Choice, Flag
from ..intake.request import Request
from ..intake.upload import MaybeUpload, Upload
from ..router import api
from .signed_in import SettingsForm, SignedIn, sender_of, signed_in

Kind = Literal["following", "blocks", "mutes", "lists", "bookmarks", "domain_blocks"]

KINDS: dict[str, str] = {
    "following": "Accounts to follow",
    "lists": "Lists",
    "blocks": "Accounts to block",
    "mutes": "Accounts to mute",
    "domain_blocks": "Domains to block",
    "bookmarks": "Bookmarks",
}
SHOWN_IMPORTS = 10
SHOWN_FAILURES = 500
# The file, and the form around it.
LARGEST = rules.LARGEST_FILE + 64 * 1024


class ImportForm(SettingsForm):
    file: MaybeUpload = None
    kind: Annotated[Kind | None, Choice] = None
    overwrite: Flag = False


@api.get("/settings/import", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the form, and how far the last imports are."""
    return await _page(await signed_in(context, request))


@api.post("/settings/import", page=True, rates=(rates.IMPORTS,), body_limit=LARGEST)
async def start(context: HttpContext, request: Request, posted: ImportForm) -> Answer:
    """Store a file to be carried out."""
    me = await sender_of(context, request, posted)
    if posted.file is None or posted.kind is None:
        return await _page(me, "Choose a file, and what is in it.")
    try:
        lines = await _lines(context, posted.file, posted.kind)
        await me.ask(StartImport(posted.kind, posted.overwrite, lines))
    except UnreadableFile as error:
        return await _page(me, str(error))
    except Refused as refusal:
        return await _page(me, f"{refusal.text}.")
    return redirect("/settings/import")


@api.get("/settings/imports/<id>", page=True)
async def show_failures(context: HttpContext, request: Request, id: int) -> Answer:
    """Show the lines of an import that had no effect."""
    me = await signed_in(context, request)
    failed = await context.database.read(imports.failures, id, me.user.account_id, SHOWN_FAILURES)
    return me.page("import_failures.html", failed=failed, most=SHOWN_FAILURES)


async def _lines(context: HttpContext, file: Upload, kind: str) -> tuple[ImportLine, ...]:
    # In a thread: the largest file takes a tenth of a second.
    found = await trio.to_thread.run_sync(_read, file, kind, context.settings.local_domain)
    # Bookmarks are compared by URIs: with those that the account has, and with each other.
    uris = await context.federation.own_addresses.uris([line.target for line in found]) if kind == "bookmarks" else {}
    return tuple(ImportLine(line.number, uris.get(line.target, line.target), line.options) for line in found)


def _read(file: Upload, kind: str, local_domain: str) -> list[ImportedLine]:
    with file.file:
        content = file.file.read(rules.LARGEST_FILE + 1)
    if len(content) > rules.LARGEST_FILE:
        raise UnreadableFile("The file is too large.")
    return lines_of(kind, content, local_domain, file.filename)


async def _page(me: SignedIn, problem: str | None = None) -> Answer:
    rows = await me.context.database.read(imports.latest, me.user.account_id, SHOWN_IMPORTS)
    return me.page(
        "import.html",
        status=422 if problem else 200,
        problem=problem,
        kinds=KINDS,
        lines=rules.MOST_LINES,
        imports=rows,
    )
