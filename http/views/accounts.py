"""Accounts as other accounts see them: an account, or a page of accounts."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from ...actors.rules.identity import USERNAME, handle_of
from ...storage import accounts, instance
from ...storage.accounts import Account
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, in_steps
from ..answers.errors import Gone, NotFound
from ..entities.account import account_fields, account_json

PEOPLE = 40  # on a page, unless the request has a limit


def is_public(account: Account) -> bool:
    """True if other accounts can see the account. They cannot until its user is confirmed and approved."""
    return account.deleted_at is None and not account.pending


def require_public(account: Account | None) -> Account:
    """Return the account. Raises NotFound if it is not public."""
    if account is None or not is_public(account):
        raise NotFound
    return account


async def find_account(context: HttpContext, id: int) -> Account:
    """Return an account that other accounts can see. Raises NotFound, and Gone if it is deleted or suspended."""
    return _require_available(await context.accounts.find(id))


async def find_own(context: HttpContext, viewer: Viewer) -> Account:
    """Return the viewer's own account. Raises NotFound if it was deleted a moment ago."""
    account = await context.accounts.find(viewer.account_id)
    if account is None:
        raise NotFound
    return account


async def find_local(context: HttpContext, name: str) -> Account:
    """Return an account of this server by its name. Raises NotFound, and Gone if it is deleted or suspended."""
    return _require_available(await context.database.read(accounts.find_by_acct, local_username(context, name), None))


def local_username(context: HttpContext, name: str) -> str:
    """Return the username in a path. Raises NotFound if it can't be the name of an account of this server.

    People also write handles with the domain of this server.
    """
    handle = None if name.endswith("@") else handle_of(f"@{name}", context.settings.local_domain)
    if handle is None or handle[1] is not None or USERNAME.fullmatch(handle[0]) is None:
        raise NotFound
    return handle[0]


def _require_available(found: Account | None) -> Account:
    """Return the account. Raises NotFound if it is not public, and Gone if it is deleted or suspended."""
    if found is not None and found.deleted_at is not None:
        raise Gone
    account = require_public(found)
    if account.suspended_at is not None:
        raise Gone
    return account


async def contact_account(context: HttpContext) -> Account | None:
    """Return the account in the settings, else the first account of staff."""
    if context.settings.contact_account is not None:
        return await context.database.read(accounts.find_by_acct, context.settings.contact_account, None)
    id = await context.database.read(instance.contact_account_id)
    return None if id is None else await context.accounts.find(id)


async def account_answer(context: HttpContext, account: Account) -> Answer:
    """Answer with an account, and the account that it has moved to."""
    base_url = context.settings.base_url
    if account.moved_to_id is None:
        return Answer(account_json(account, context.rendered, base_url))
    moved = await context.accounts.find(account.moved_to_id)
    return Answer(orjson.dumps(account_fields(account, base_url, context.rendered.emojis, moved)))


async def render_accounts(context: HttpContext, ids: Iterable[int]) -> list[bytes]:
    """Return accounts in the order of the ids, without accounts that are not public."""
    return list((await render_by_id(context, ids)).values())


async def render_by_id(context: HttpContext, ids: Iterable[int]) -> dict[int, bytes]:
    """Return accounts by their ids, in the order of the ids, without accounts that are not public."""
    found = await context.accounts.find_many(ids)
    shown = [account for account in found.values() if is_public(account)]
    base_url = context.settings.base_url
    bodies = await in_steps(account_json(account, context.rendered, base_url) for account in shown)
    return {account.id: body for account, body in zip(shown, bodies, strict=True)}
