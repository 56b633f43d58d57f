"""Accounts rendered for others to see, one or a page of them."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from ...storage.accounts import Account
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..answers.errors import Gone, NotFound
from ..entities.account import account_fields, account_json
from ..intake.request import Request
from .listing import Rows, row_links

PEOPLE = 40  # on a page, when nobody says how many


def is_presentable(account: Account) -> bool:
    """Whether an account exists for others: users who are not confirmed or approved yet do not."""
    return account.deleted_at is None and not account.pending


def presentable(account: Account | None) -> Account:
    """An account that exists for others."""
    if account is None or not is_presentable(account):
        raise NotFound
    return account


async def find_account(context: HttpContext, id: int) -> Account:
    """An account that others may look at; 410 when it is suspended."""
    account = presentable(await context.accounts.find(id))
    if account.suspended_at is not None:
        raise Gone
    return account


async def account_answer(context: HttpContext, account: Account) -> Answer:
    """One account, with the account it has moved to."""
    base_url = context.settings.base_url
    if account.moved_to_id is None:
        return Answer(account_json(account, context.rendered, base_url))
    moved = await context.accounts.find(account.moved_to_id)
    return Answer(orjson.dumps(account_fields(account, base_url, moved)))


async def render_accounts(context: HttpContext, ids: Iterable[int]) -> list[bytes]:
    """Accounts in the order asked for, without those that are not there any more."""
    found = await context.accounts.find_many(ids)
    base_url = context.settings.base_url
    return [account_json(account, context.rendered, base_url) for account in found.values() if is_presentable(account)]


async def accounts_page(context: HttpContext, request: Request, rows: Rows, limit: int) -> Answer:
    """A page of accounts, all of which the viewer may see."""
    bodies = await render_accounts(context, (id for _, id in rows))
    return array(bodies, row_links(context, request, rows, limit, "since_id"))
