"""Asking other servers for what a request names: for a short time, so that a slow one delays no answer for long."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from ...actors.federation.errors import DocumentUnavailable
from ...actors.rules.identity import handle_of
from ...storage.accounts import Account
from ..access.context import HttpContext

PATIENCE = 10.0  # seconds; the other server is asked further, and may be found by the next request


def is_web_address(query: str) -> bool:
    return query.strip().lower().startswith(("https://", "http://"))


async def resolve_address(context: HttpContext, url: str) -> Account | None:
    """Return the account that a web address leads to."""
    with trio.move_on_after(PATIENCE):
        try:
            return await context.federation.resolver.account_at(url.strip())
        except DocumentUnavailable:
            return None
    return None


async def resolve_handle(context: HttpContext, written: str) -> Account | None:
    """Return the account of a handle with a domain. It is stored if it was not yet, so that a search finds it."""
    handle = handle_of(written, context.settings.local_domain)
    if handle is None or handle[1] is None:
        return None
    with trio.move_on_after(PATIENCE):
        try:
            return await context.federation.resolver.account_by_handle(handle[0], handle[1])
        except DocumentUnavailable:
            return None
    return None


def with_named(account: Account | None, ids: Sequence[int], limit: int) -> list[int]:
    """Return the ids of accounts that were found, and first that of the account whose handle was asked for."""
    if account is None or account.id in ids or account.suspended_at is not None or limit <= 0:
        return list(ids)
    return [account.id, *ids][:limit]
