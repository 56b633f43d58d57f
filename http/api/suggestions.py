"""Suggestions of accounts to follow: accounts that the viewer interacted with, then popular accounts of this server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ...actors.commands.suggestions import DismissSuggestion
from ...storage.suggestions import Suggestion
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array
from ..answers.errors import NotFound
from ..entities.account import suggestion_json
from ..intake.paging import PagedByOffset
from ..router import api, path_id
from ..views.accounts import PEOPLE, render_accounts, render_by_id
from ..views.statuses import perspective_of

READ = ("read:accounts",)
# `read` as in the documentation and older apps, `write:accounts` as in newer apps.
DISMISS = ("read", "write:accounts")


@api.get("/api/v1/suggestions", auth="user", scopes=READ, returns="[Account]")
async def show_accounts(context: HttpContext, viewer: Viewer, paged: PagedByOffset) -> Answer:
    """The suggested accounts, without the reasons."""
    page = await _page(context, viewer, paged)
    return array(await render_accounts(context, [suggestion.account_id for suggestion in page]))


@api.get("/api/v2/suggestions", auth="user", scopes=READ, returns="[Suggestion]")
async def show(context: HttpContext, viewer: Viewer, paged: PagedByOffset) -> Answer:
    page = await _page(context, viewer, paged)
    accounts = await render_by_id(context, [suggestion.account_id for suggestion in page])
    return array([
        suggestion_json(suggestion, accounts[suggestion.account_id])
        for suggestion in page
        if suggestion.account_id in accounts
    ])  # fmt: skip


@api.delete("/api/v1/suggestions/<account_id>", auth="user", scopes=DISMISS, returns="{}")
async def dismiss(viewer: Viewer, account_id: str) -> Answer:
    """Never suggest an account again. This succeeds for every text in place of the id."""
    with suppress(NotFound):
        await viewer.ask(DismissSuggestion(path_id(account_id)))
    return EMPTY


async def _page(context: HttpContext, viewer: Viewer, paged: PagedByOffset) -> Sequence[Suggestion]:
    limit, offset = paged.limit_and_offset(PEOPLE)
    found = await context.suggestions.find(viewer.account_id, await perspective_of(viewer))
    return found[offset : offset + limit]
