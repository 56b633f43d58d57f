"""Lookups on other servers for a request, and the search for accounts, which uses them.

Lookups have short timeouts, so that a slow server delays no answer for long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import trio

from ...actors.federation.errors import DocumentUnavailable
from ...actors.rules import text
from ...actors.rules.identity import domain_of, handle_of
from ...storage import accounts, search
from ...storage.accounts import Account
from ...storage.federation import remote_accounts
from ..access.authentication import Viewer
from ..access.context import HttpContext

MENTION_PATIENCE = 5.0  # seconds that a new status waits for the accounts that it mentions
MOST_MENTIONS = 10  # lookups for a text
# The URL of a profile or of a status, without a scheme. Other texts without a scheme can't be recognized as URLs.
PAGE_WITHOUT_SCHEME = re.compile(r"(?:[\w-]+\.)+\w+(?::[0-9]+)?/@[\w.@-]+(?:/[\w-]+)?/?")
# The URLs of pages and ids of accounts on known kinds of servers.
PROFILE = re.compile(
    r"https?://(?P<domain>[^/?#@]+)/(?:@|users/|u/|profile/|author/|channel/)(?P<name>[\w.-]+)/?", re.IGNORECASE
)
REMOTE_HANDLE = re.compile(r"@[\w.-]+@")
PATIENCE = 10.0  # seconds; the lookup goes on after it, and the next request finds the account


def web_address_of(query: str) -> str | None:
    """Return the query as a URL, with its scheme if that is missing; None if the query is not a URL."""
    if query.lower().startswith(("https://", "http://")):
        return query
    return f"https://{query}" if PAGE_WITHOUT_SCHEME.fullmatch(query) else None


async def resolve_address(context: HttpContext, url: str) -> Account | int | None:
    """Return the account, or the id of the status, at a URL."""
    with trio.move_on_after(PATIENCE):
        try:
            return await context.federation.resolver.resource_at(url.strip())
        except DocumentUnavailable:
            return None
    return None


async def known_at(context: HttpContext, url: str) -> Account | None:
    """Return the account at a URL if it is known here. Sends no request."""
    own = await context.federation.own_addresses.find(url)
    if isinstance(own, Account):
        return own
    known = await context.database.read(remote_accounts.find, url)
    if known is None and (profile := PROFILE.fullmatch(url)):
        domain = domain_of(profile["domain"])
        found = await context.database.read(accounts.find_by_acct, profile["name"], domain) if domain else None
        if domain and found is not None and _is_page(found, url.replace(profile["domain"], domain, 1)):
            known = found
    return known


def _is_page(account: Account, url: str) -> bool:
    """True if a URL is the account's page or id. Ignores case and a slash at the end."""
    return url.rstrip("/").lower() in {own.rstrip("/").lower() for own in (account.uri, account.url) if own}


async def resolve_handle(context: HttpContext, written: str) -> Account | None:
    """Return the account of a handle with a domain. A new account is stored, so that a search finds it."""
    handle = handle_of(written, context.settings.local_domain)
    if handle is None or handle[1] is None:
        return None
    with trio.move_on_after(PATIENCE):
        try:
            return await context.federation.resolver.account_by_handle(handle[0], handle[1])
        except DocumentUnavailable:
            return None
    return None


async def resolve_mentions(context: HttpContext, written: str, asked_type: str | None) -> None:
    """Store the accounts that a text mentions, if their servers answer in time. Other mentions stay plain text."""
    if not REMOTE_HANDLE.search(written):
        return
    handles = text.scan(written, text.content_type(asked_type)).handles(context.settings.local_domain)
    remote = tuple(handle for handle in handles if "@" in handle)
    known = await context.database.read(accounts.find_mentionable, remote)
    with trio.move_on_after(MENTION_PATIENCE):
        async with trio.open_nursery() as nursery:
            for handle in [handle for handle in remote if handle not in known][:MOST_MENTIONS]:
                nursery.start_soon(resolve_handle, context, handle)


def with_named(account: Account | None, ids: Sequence[int], limit: int) -> list[int]:
    """Return the ids of found accounts, with the exact match, `account`, first."""
    if account is None or account.id in ids or account.suspended_at is not None or limit <= 0:
        return list(ids)
    return [account.id, *ids][:limit]


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
