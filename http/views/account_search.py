"""The search for accounts, which two endpoints share."""

from __future__ import annotations

from ...actors.rules.identity import handle_of
from ...storage import search
from ..access.authentication import Viewer
from ..access.context import HttpContext
from .resolving import known_at, resolve_address, resolve_handle, web_address_of, with_named


async def find_accounts(
    context: HttpContext,
    viewer: Viewer | None,
    query: str,
    *,
    resolve: bool,
    following: bool,
    limit: int,
    offset: int,
) -> list[int]:
    """Return the ids of accounts by a handle, the URL of a profile or words of a name. An exact match comes first.

    With `resolve`, an unknown account is requested from its server. `following` restricts the result to accounts that
    the viewer follows.
    """
    address = web_address_of(query)
    if address is not None:
        found = await resolve_address(context, address) if resolve else await known_at(context, address)
        return with_named(None if isinstance(found, int) or offset else found, (), limit)
    named = await resolve_handle(context, query) if resolve and not offset else None
    names = search.names_of(query, handle_of(query, context.settings.local_domain))
    ids = await context.database.read(
        search.accounts, names, viewer=None if viewer is None else viewer.account_id, followed=following,
        limit=limit, offset=offset,
    )  # fmt: skip
    return with_named(named, ids, limit)
