"""Accounts as other accounts see them, one or a page of them."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from ...actors.rules.identity import USERNAME, handle_of
from ...storage import accounts, instance
from ...storage.accounts import Account
from ..access.context import HttpContext
from ..answers.answer import Answer, in_steps
from ..answers.errors import Gone, NotFound
from ..entities.account import account_fields, account_json

PEOPLE = 40  # on a page, unless the request says how many


def is_presentable(account: Account) -> bool:
    """True if other accounts can see the account. They cannot until its user is confirmed and approved."""
    return account.deleted_at is None and not account.pending


def presentable(account: Account | None) -> Account:
    """Return an account that other accounts can see. Raises NotFound."""
    if account is None or not is_presentable(account):
        raise NotFound
    return account


async def find_account(context: HttpContext, id: int) -> Account:
    """Return an account that other accounts can see. Raises NotFound, and Gone if it is deleted or suspended."""
    return _present(await context.accounts.find(id))


async def find_local(context: HttpContext, name: str) -> Account:
    """Return an account of this server by its name. Raises NotFound, and Gone if it is deleted or suspended."""
    return _present(await context.database.read(accounts.find_by_acct, local_username(context, name), None))


def local_username(context: HttpContext, name: str) -> str:
    """Return the name of an account of this server as a path has it. Raises NotFound for all that can't be one.

    People write the domain of this server behind it, as in a handle.
    """
    handle = None if name.endswith("@") else handle_of(f"@{name}", context.settings.local_domain)
    if handle is None or handle[1] is not None or USERNAME.fullmatch(handle[0]) is None:
        raise NotFound
    return handle[0]


def _present(found: Account | None) -> Account:
    """Return an account that other accounts can see. Raises NotFound, and Gone if it is deleted or suspended."""
    if found is not None and found.deleted_at is not None:
        raise Gone
    account = presentable(found)
    if account.suspended_at is not None:
        raise Gone
    return account


async def contact_account(context: HttpContext) -> Account | None:
    """Return the account that the operator has named, else the first staff account."""
    if context.settings.contact_account is not None:
        return await context.database.read(accounts.find_by_acct, context.settings.contact_account, None)
    id = await context.database.read(instance.contact_account_id)
    return None if id is None else await context.accounts.find(id)


async def account_answer(context: HttpContext, account: Account) -> Answer:
    """Answer with one account, and the account that it has moved to."""
    base_url = context.settings.base_url
    if account.moved_to_id is None:
        return Answer(account_json(account, context.rendered, base_url))
    moved = await context.accounts.find(account.moved_to_id)
    return Answer(orjson.dumps(account_fields(account, base_url, context.rendered.emojis, moved)))


async def render_accounts(context: HttpContext, ids: Iterable[int]) -> list[bytes]:
    """Return accounts in the order of the ids, without those that are deleted."""
    return list((await render_by_id(context, ids)).values())


async def render_by_id(context: HttpContext, ids: Iterable[int]) -> dict[int, bytes]:
    """Return accounts by their ids, in the order of the ids, without those that are deleted."""
    found = await context.accounts.find_many(ids)
    shown = [account for account in found.values() if is_presentable(account)]
    base_url = context.settings.base_url
    bodies = await in_steps(account_json(account, context.rendered, base_url) for account in shown)
    return {account.id: body for account, body in zip(shown, bodies, strict=True)}
