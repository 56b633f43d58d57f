"""The references in documents of statuses: the URIs of mentioned accounts, of parents and of quoted statuses."""

from __future__ import annotations

from ..shown.statuses import AccountCache, ShownStatus, StatusCache
from .documents.notes import References
from .names import LocalNames


async def references_of(
    shown: ShownStatus, names: LocalNames, accounts: AccountCache, statuses: StatusCache
) -> References:
    """Return the URIs that the document of a status refers to. URIs never change, so cached records are good enough.

    A parent or a quoted status that was deleted is left out.
    """
    status = shown.status
    people = await accounts.find_many(status.mentioned_ids)
    others = [id for id in (status.in_reply_to_id, status.quote_of_id) if id is not None]
    found = await statuses.find_many(others) if others else {}
    parent, quoted = found.get(status.in_reply_to_id or 0), found.get(status.quote_of_id or 0)
    return References(
        people={account.id: account.uri for account in people.values()},
        parent=None if parent is None else parent.uri,
        quoted=None if quoted is None else quoted.uri,
        quoted_page=None if quoted is None else quoted.url,
        quote_authorization=_authorization_of(shown, names),
    )


def _authorization_of(shown: ShownStatus, names: LocalNames) -> str | None:
    """Return the document that allows the quote of a status. Authors need none to quote themselves."""
    status, quoted = shown.status, shown.quoted
    if status.quote_state != "accepted" or quoted is None or quoted.author.id == shown.author.id:
        return None
    if not quoted.author.local:
        return status.quote_approval_uri
    return names.quote_authorization(quoted.author.username, status.id)
