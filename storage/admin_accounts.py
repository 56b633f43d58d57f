"""Accounts as staff see them: with their users, by filters that can be combined."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from . import visits
from .account_names import query_of
from .engine.database import Connection
from .search import begins
from .upkeep.paging import Page
from .visits import UsedAddress

SHOWN_ADDRESSES = 20  # of a user

Status = Literal["active", "pending", "disabled", "silenced", "suspended", "sensitized"]

FIND_USERS = """
    SELECT account_id, email, host(sign_up_ip) AS ip, locale, invite_request, role, confirmed_at, approved_at,
        disabled_at, created_by_application_id, created_at,
        (SELECT i.account_id FROM invites i WHERE i.id = users.invite_id) AS invited_by_account_id
    FROM users WHERE account_id = ANY($1::bigint[])
"""

# A join with users makes a page of local accounts. Bounds and order are those of the joined column, because PostgreSQL
# concludes from `a.id = u.account_id` that both are ordered alike, but not that both have the same bounds.
PAGE = """
    SELECT {key} AS id FROM accounts a {join}
    WHERE a.deleted_at IS NULL AND {key} < $1 AND {key} > $2 {conditions}
    ORDER BY {key} {order} LIMIT $3
"""

FROM_NETWORK = """
    u.account_id IN (
        SELECT s.account_id FROM users s WHERE s.sign_up_ip <<= $::inet
        UNION ALL SELECT v.account_id FROM visits v WHERE v.ip <<= $::inet
    )
"""

USERS = "JOIN users u ON u.account_id = a.id"

# The expression of its index.
EMAIL_DOMAIN = "split_part(lower(u.email), '@', 2)"

STATUSES: dict[Status, str] = {
    "active": """
        a.suspended_at IS NULL AND NOT coalesce((
            SELECT v.approved_at IS NULL OR v.disabled_at IS NOT NULL FROM users v WHERE v.account_id = a.id
        ), false)
    """,
    "pending": "u.approved_at IS NULL",
    "disabled": "u.disabled_at IS NOT NULL",
    "silenced": "a.silenced_at IS NOT NULL",
    "suspended": "a.suspended_at IS NOT NULL",
    "sensitized": "a.sensitized_at IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class AccountFilter:
    """The conditions for accounts of a list. Each value that is given leaves out accounts."""

    local: bool | None = None
    statuses: frozenset[Status] = frozenset()
    roles: frozenset[str] | None = None
    staff: bool = False
    username: str | None = None  # the beginning of it
    display_name: str | None = None  # the beginnings of words in it, or in the user name
    email: str | None = None  # the beginning of it
    email_domain: str | None = None  # the whole of it
    domain: str | None = None
    invited_by: int | None = None  # an account that made an invite
    network: str | None = None  # an address of a local account is in it


@dataclass(frozen=True, slots=True)
class AdminUser:
    """The user of a local account, with the data that only staff may read."""

    account_id: int
    email: str
    ip: str | None
    locale: str | None
    invite_request: str | None
    role: str
    confirmed_at: datetime | None
    approved_at: datetime | None
    disabled_at: datetime | None
    created_by_application_id: int | None
    created_at: datetime
    invited_by_account_id: int | None
    visited_from: Sequence[UsedAddress]

    @property
    def addresses(self) -> list[UsedAddress]:
        """The addresses that the user used last, the newest first, and that of the sign-up."""
        if self.ip is None or any(address.ip == self.ip for address in self.visited_from):
            return list(self.visited_from)
        return [*self.visited_from, UsedAddress(self.ip, self.created_at)]


def _words_in(name: str) -> str:
    """Return a `tsquery` for a part of a name. It matches nothing if the part has no word."""
    query = query_of(name)
    return "" if query is None else query.whole


async def find_users(db: Connection, ids: Sequence[int]) -> dict[int, AdminUser]:
    """Return the users of accounts by the accounts' ids. Accounts of other servers have none."""
    used = await visits.addresses(db, ids, SHOWN_ADDRESSES)
    rows = await db.fetch(FIND_USERS, ids)
    return {row["account_id"]: AdminUser(**row, visited_from=used.get(row["account_id"], ())) for row in rows}


async def page(db: Connection, wanted: AccountFilter, page: Page) -> list[int]:
    """Return the ids of a page of accounts, newest first, without deleted accounts."""
    query, values = page_query(wanted, oldest_first=page.oldest_first)
    rows = await db.fetch(query, *page.bounds, *values)
    return sorted((row["id"] for row in rows), reverse=True)


def page_query(wanted: AccountFilter, *, oldest_first: bool = False) -> tuple[str, list[object]]:
    """Return the query of a filter, and the values of its parameters from $4 on.

    Each combination of filters is a statement of its own, so that its plan can use the index of the filter.
    """
    conditions = [STATUSES[status] for status in sorted(wanted.statuses)]
    values: list[object] = []
    if wanted.local is not None:
        conditions.append("a.domain IS NULL" if wanted.local else "a.domain IS NOT NULL")
    if wanted.staff:
        conditions.append("u.role <> 'user'")
    for condition, value in _with_values(wanted):
        if value is not None:
            values.append(value)
            conditions.append(condition.replace("$", f"${len(values) + 3}"))
    joined = any("u." in condition for condition in conditions)
    query = PAGE.format(
        key="u.account_id" if joined else "a.id",
        join=USERS if joined else "",
        conditions=" ".join(f"AND ({condition})" for condition in conditions),
        order="ASC" if oldest_first else "DESC",
    )
    return query, values


def _with_values(wanted: AccountFilter) -> list[tuple[str, object]]:
    """Return conditions, with `$` for their value, and the values. None if the filter has no value."""
    return [
        ("u.role = ANY($::text[])", None if wanted.roles is None else sorted(wanted.roles)),
        (begins("lower(a.username)", "lower($::text)"), wanted.username),
        ("a.names @@ $::text::tsquery", None if wanted.display_name is None else _words_in(wanted.display_name)),
        *_email_conditions(wanted),
        ("a.domain = lower($::text)", wanted.domain),
        ("u.invite_id IN (SELECT i.id FROM invites i WHERE i.account_id = $)", wanted.invited_by),
        (FROM_NETWORK, wanted.network),
    ]


def _email_conditions(wanted: AccountFilter) -> list[tuple[str, object]]:
    """Return the conditions for addresses. A text that may be a beginning or a domain finds the addresses of both."""
    beginning, domain = begins("lower(u.email)", "lower($::text)"), f"{EMAIL_DOMAIN} = lower($::text)"
    if wanted.email is not None and wanted.email == wanted.email_domain:
        return [(f"({beginning}) OR {domain}", wanted.email)]
    return [(beginning, wanted.email), (domain, wanted.email_domain)]
