"""Sends favourites, votes, pins, featured hashtags, and permissions to quote a status (FEP-044f), and their ends."""

from __future__ import annotations

from collections.abc import Iterable

from ...storage import accounts
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.featured_tags import FeaturedTag
from ...storage.quotes import EndedQuote
from ...storage.statuses import Status
from ..account import AccountActor
from ..activitypub.documents import activities
from ..context import ActorContext
from ..promises import Promise
from .delivery_promises import Recipients, deliver, deliver_to, find_inboxes
from .statuses import OPEN


async def send_like(db: Connection, account: AccountActor, id: int, status: Status) -> list[Promise]:
    """Queue the Like of a status for its author's server."""
    return await _send_like(db, account, id, status, undone=False)


async def send_unlike(db: Connection, account: AccountActor, id: int, status: Status | None) -> list[Promise]:
    """Queue the Undo of a Like for the server of the status's author."""
    return [] if status is None else await _send_like(db, account, id, status, undone=True)


async def send_votes(
    db: Connection, account: AccountActor, status: Status, votes: Iterable[tuple[int, int]]
) -> list[Promise]:
    """Queue votes, as (id, position), for the author of a poll on another server."""
    author = await _author_elsewhere(db, account, status)
    if author is None or status.poll is None:
        return []
    context, name, promises = account.context, account.owner.username, list[Promise]()
    names, now = context.names, context.clock.now()
    for id, position in votes:
        option = status.poll.options[position].title
        vote = activities.vote_of(
            names.activity(name, "votes", id), names.actor(name), status.uri, author.uri, option, now
        )
        promises += await deliver_to(db, context, account.id, vote, author.id)
    return promises


async def send_pin(db: Connection, account: AccountActor, status: Status | None, *, pinned: bool) -> list[Promise]:
    """Queue the Add or Remove of a pinned public or unlisted status for the followers."""
    if status is None or status.visibility not in OPEN or account.user is None:
        return []
    context, name = account.context, account.owner.username
    found = await find_inboxes(db, context, account.id, Recipients(followers=True))
    if not found:
        return []
    names, make = context.names, activities.add_of if pinned else activities.remove_of
    activity = make(
        names.actor(name), status.uri, names.featured(name), names.followers(name), context.clock.now()
    )  # fmt: skip
    return await deliver(db, context, account.id, activity, found)


async def send_featured_tag(
    db: Connection, account: AccountActor, tag: FeaturedTag, *, featured: bool
) -> list[Promise]:  # fmt: skip
    """Queue the Add or Remove of a featured hashtag for the followers."""
    if account.user is None:
        return []
    context, name = account.context, account.owner.username
    found = await find_inboxes(db, context, account.id, Recipients(followers=True))
    if not found:
        return []
    names, make = context.names, activities.add_tag_of if featured else activities.remove_tag_of
    activity = make(
        names.actor(name), tag.name, tag.display_name, names, names.featured(name), context.clock.now()
    )  # fmt: skip
    return await deliver(db, context, account.id, activity, found)


async def _send_like(
    db: Connection, account: AccountActor, id: int, status: Status, *, undone: bool
) -> list[Promise]:  # fmt: skip
    author = await _author_elsewhere(db, account, status)
    if author is None:
        return []
    names, name = account.context.names, account.owner.username
    like = activities.like_of(names.activity(name, "likes", id), names.actor(name), status.uri, author.uri)
    return await deliver_to(db, account.context, account.id, activities.undo_of(like) if undone else like, author.id)


async def _author_elsewhere(db: Connection, account: AccountActor, status: Status) -> accounts.Account | None:
    """Return the author of a status if they are on another server and the account is local."""
    return None if status.local or account.user is None else await accounts.find(db, status.account_id)


async def send_quote_answer(
    db: Connection, context: ActorContext, me: Account, asker: Account, request: dict[str, str], quoting_id: int | None
) -> list[Promise]:
    """Queue the Accept of a QuoteRequest by the status `quoting_id`, or its Reject if that is None."""
    if quoting_id is None:
        id = f"{me.uri}#rejects/{context.ids.next()}"
        return await deliver_to(db, context, me.id, activities.reject_quote_of(id, me.uri, request), asker.id)
    id = f"{me.uri}#accepts/{context.ids.next()}"
    authorization = context.names.quote_authorization(me.username, quoting_id)
    accept = activities.accept_quote_of(id, me.uri, request, authorization)
    return await deliver_to(db, context, me.id, accept, asker.id)


async def send_revocations(db: Connection, account: AccountActor, ended: Iterable[EndedQuote]) -> list[Promise]:
    """Queue the Deletes of the permissions by which accounts on other servers quote a status of this account."""
    if account.user is None:
        return []
    context, name, promises = account.context, account.owner.username, list[Promise]()
    for quote in ended:
        revoked = context.names.quote_authorization(name, quote.id)
        delete = activities.delete_of(context.names.actor(name), revoked)
        promises += await deliver_to(db, context, account.id, delete, quote.account_id)
    return promises
