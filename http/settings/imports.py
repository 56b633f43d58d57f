"""The page that imports a file, with the progress of earlier imports, and the lines that failed.

Failed lines can be retried, or downloaded as a file of the same kind that has the reason in its last column.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Literal

import trio

from ...actors.activitypub.names import LocalAccountName
from ...actors.commands.imports import RetryImport, StartImport, StopImport
from ...actors.kernel import Refused
from ...actors.rules import imports as rules
from ...actors.rules.csv_files import UnreadableFile
from ...actors.rules.imports import ImportedLine, lines_of
from ...storage import imports
from ...storage.imports import FailedLine, Import, ImportLine
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.decoding import Upload
from ..intake.parameters import Choice, Flag, MaybeUpload
from ..intake.request import Request
from ..router import api
from .exports import CSV, ROWS_AT_ONCE, as_csv
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
# The columns of the file of failed lines. An import of the kind can read it.
FAILURE_COLUMNS: Mapping[str, Sequence[str]] = {
    "following": ("Account address", "Show boosts", "Notify on new posts", "Languages"),
    "lists": ("List name", "Account address"),
    "blocks": ("Account address",),
    "mutes": ("Account address", "Hide notifications"),
    "domain_blocks": ("#domain",),
    "bookmarks": ("#uri",),
}
SHOWN_IMPORTS = 20
SHOWN_FAILURES = 500
# Bytes of the file and the form around it.
LARGEST = rules.LARGEST_FILE + 64 * 1024


class ImportForm(SettingsForm):
    file: MaybeUpload = None
    kind: Annotated[Kind | None, Choice] = None
    overwrite: Flag = False


@api.get("/settings/import", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the form, and the progress of the last imports."""
    return await _page(await signed_in(context, request))


@api.post("/settings/import", page=True, rates=(rates.IMPORTS,), body_limit=LARGEST)
async def start(context: HttpContext, request: Request, posted: ImportForm) -> Answer:
    """Store a file, which is imported in the background."""
    me = await sender_of(context, request, posted)
    if posted.file is None or posted.kind is None:
        return await _page(me, "Choose a file, and what is in it.")
    try:
        lines = await _lines(context, posted.file, posted.kind)
        await me.ask(StartImport(posted.kind, posted.overwrite, lines))
    except UnreadableFile as error:
        return await _page(me, str(error), posted.kind)
    except Refused as refusal:
        return await _page(me, f"{refusal.text}.", posted.kind)
    return redirect("/settings/import")


@api.get("/settings/imports/<id>", page=True)
async def show_failures(context: HttpContext, request: Request, id: int) -> Answer:
    """Show the failed lines of an import."""
    me = await signed_in(context, request)
    failed = await context.database.read(imports.failures, id, me.user.account_id, 0, SHOWN_FAILURES)
    return me.page("import_failures.html", id=id, failed=failed, most=SHOWN_FAILURES)


@api.get("/settings/imports/<id>/failures.csv", page=True)
async def download_failures(context: HttpContext, request: Request, id: int) -> Answer:
    """Send the failed lines of an import as a file that can be imported. It is read in parts."""
    me = await signed_in(context, request)
    found = await context.database.read(imports.find, id)
    if found is None or found.account_id != me.user.account_id:
        raise NotFound("Not Found")
    headers = (("Content-Disposition", f'attachment; filename="{found.kind}_not_imported.csv"'),)
    if request.method == "HEAD":
        return Answer(b"", 200, headers, CSV)
    return Answer(b"", 200, headers, CSV, stream=lambda: _failures(context, found))


@api.post("/settings/imports/<id>/retry", page=True, rates=(rates.IMPORTS,))
async def retry(context: HttpContext, request: Request, id: int, posted: SettingsForm) -> Answer:
    """Retry the failed lines."""
    me = await sender_of(context, request, posted)
    try:
        await me.ask(RetryImport(id))
    except Refused as refusal:
        return await _page(me, f"{refusal.text}.")
    return redirect("/settings/import")


@api.post("/settings/imports/<id>/stop", page=True)
async def stop(context: HttpContext, request: Request, id: int, posted: SettingsForm) -> Answer:
    """Stop an import."""
    me = await sender_of(context, request, posted)
    await me.ask(StopImport(id))
    return redirect("/settings/import")


async def _failures(context: HttpContext, found: Import) -> AsyncIterator[bytes]:
    yield as_csv([(*FAILURE_COLUMNS[found.kind], "Reason")])
    after, failed = 0, ROWS_AT_ONCE
    while failed == ROWS_AT_ONCE:
        lines = await context.database.read(imports.failures, found.id, found.account_id, after, ROWS_AT_ONCE)
        yield as_csv([(*_cells(found.kind, line, context.settings.local_domain), line.error) for line in lines])
        after, failed = lines[-1].number if lines else 0, len(lines)


def _cells(kind: str, line: FailedLine, local_domain: str) -> Sequence[str]:
    options = line.options
    if kind in ("domain_blocks", "bookmarks"):
        return (line.target,)
    account = line.target if "@" in line.target or "://" in line.target else f"{line.target}@{local_domain}"
    match kind:
        case "following":
            switches = (_switch(options.get("reblogs", True)), _switch(options.get("notify", False)))
            return (account, *switches, ", ".join(options.get("languages") or ()))
        case "mutes":
            return (account, _switch(options.get("notifications", True)))
        case "lists":
            return (options["title"], account)
        case _:
            return (account,)


def _switch(value: bool) -> str:
    return "true" if value else "false"


async def _lines(context: HttpContext, file: Upload, kind: str) -> tuple[ImportLine, ...]:
    # In a thread: the largest file takes some seconds.
    found = await trio.to_thread.run_sync(_read, file, kind, context.settings.local_domain)
    if kind == "bookmarks":
        # Bookmarks are compared by URIs, with each other and with existing bookmarks.
        uris = await context.federation.own_addresses.uris([line.target for line in found])
    else:
        uris = {line.target: _handle(context, line.target) for line in found if "://" in line.target}
    return tuple(ImportLine(line.number, uris.get(line.target, line.target), line.options) for line in found)


def _handle(context: HttpContext, address: str) -> str:
    """Return the handle of the account at a URL of this server; other URLs unchanged."""
    name = context.federation.names.read(address)
    if not isinstance(name, LocalAccountName):
        return address
    return (name.username if name.domain is None else f"{name.username}@{name.domain}").lower()


def _read(file: Upload, kind: str, local_domain: str) -> list[ImportedLine]:
    with file.file:
        content = file.file.read(rules.LARGEST_FILE + 1)
    if len(content) > rules.LARGEST_FILE:
        raise UnreadableFile("The file is too large.")
    return lines_of(kind, content, local_domain, file.filename)


async def _page(me: SignedIn, problem: str | None = None, chosen: Kind | None = None) -> Answer:
    rows = await me.context.database.read(imports.latest, me.user.account_id, SHOWN_IMPORTS)
    return me.page(
        "import.html",
        status=422 if problem else 200,
        problem=problem,
        kinds=KINDS,
        chosen=chosen,
        lines=rules.MOST_LINES,
        imports=rows,
    )
