"""Follow and Block of a local account; Accept and Reject of a request that a local account has sent.

Requests are to follow or to quote. A Reject may also end a follow that was accepted before. A Block ends the follows in
both directions.
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import unquote

from ....storage import follow_requests, follows
from ....storage.engine.json_values import JsonObject
from ....storage.federation import received_activities, tombstones
from ...activitypub.names import ACTIVITY
from ...activitypub.vocabulary import uri_of
from ...commands.blocks import Block
from ...commands.follow_requests import AuthorizeRequest, RemoveFollower
from ...commands.follower_lists import EndUnknownFollow
from ...commands.follows import Follow
from ...commands.quotes import ConfirmQuote, RevokeQuote
from ..inbox_context import Activity, InboxContext
from ..quotes import PendingQuote, is_allowed, pending_quote

LONGEST_WAY = timedelta(minutes=1)  # of an Accept without an outage


async def follow(inbox: InboxContext, activity: Activity) -> None:
    """Follow, or request to follow. If a Follow is sent again, the answer must name its new URI."""
    target = await inbox.local_account_id(activity.object_uri)
    if target is not None:
        if activity.id is not None:
            digest = follow_digest(activity.actor.uri, activity.id)
            await inbox.shared.database.transact(received_activities.insert, digest, inbox.shared.clock.now())
        await inbox.ask(activity.actor.id, Follow(target, uri=activity.id), activity.origin)


def follow_digest(actor_uri: str, follow_uri: str) -> bytes:
    """Return the digest by which a received Follow is remembered."""
    return received_activities.digest_of(actor_uri, follow_uri, "Follow")


async def accept(inbox: InboxContext, activity: Activity) -> None:
    """Accept the follow request. Without a request, the other server gets an Undo of the follow.

    It may have accepted a Follow that was delivered twice, and rejected it in between. An Accept whose Undo was
    received first has no effect.
    """
    if activity.id is not None and await inbox.shared.database.read(
        tombstones.is_deleted, activity.id, activity.actor.id, inbox.shared.clock.now()
    ):
        return
    if (pending := await pending_quote(inbox, activity)) is not None:
        await _confirm(inbox, activity, pending)
        return
    follower = await follower_of_answer(inbox, activity)
    if follower is None:
        return
    asked_at = await inbox.shared.database.read(follow_requests.asked_at, follower, activity.actor.id)
    if asked_at is not None:
        accepted_since = max(asked_at, inbox.shared.clock.now() - LONGEST_WAY)
        await inbox.ask(activity.actor.id, AuthorizeRequest(follower), activity.origin)
        inbox.resolver.find_latest_later(activity.actor, accepted_since)
    else:
        await inbox.ask(follower, EndUnknownFollow(activity.actor.id), activity.origin)


async def _confirm(inbox: InboxContext, activity: Activity, pending: PendingQuote) -> None:
    """Show a quote, if its QuoteAuthorization is valid."""
    authorization, quoted = uri_of(activity.document.get("result")), pending.quoted
    known = await inbox.status(quoted.uri)
    if authorization is None or known is None:
        return
    database, fetcher = inbox.shared.database, inbox.fetcher
    if await is_allowed(database, fetcher, authorization, pending.quoting.uri, quoted.uri, known):
        command = ConfirmQuote(quoted.id, pending.quoting.id, authorization)
        await inbox.ask(activity.actor.id, command, activity.origin)


async def follower_of_answer(inbox: InboxContext, activity: Activity) -> int | None:
    """Return the local follower whose Follow an answer of the actor names: by its URI, else by both accounts."""
    uri = activity.object_uri
    if uri is not None:
        found = await inbox.shared.database.read(follows.asking_with, activity.actor.id, uri)
        if found is not None:
            return found
    username = inbox.names.username_of(_follower_uri(activity) or "")
    if username is None:
        return None
    follower = await inbox.local_account_id(inbox.names.actor(username))
    return await _unless_superseded(inbox, uri, follower, activity.actor.id)


def _follower_uri(activity: Activity) -> str | None:
    """Return the account that an answer names: by an embedded Follow, by the id of a Follow, or directly.

    GoToSocial accepts favourites and boosts too, by their ids alone.
    """
    uri, embedded = activity.object_uri, activity.object
    actor, _, named = unquote(uri or "").partition("#")
    if ACTIVITY.fullmatch(named) and not named.startswith("follows/"):
        return None
    if embedded is None:
        return actor
    return (actor_of(embedded) or actor) if "Follow" in activity.object_types else uri


async def _unless_superseded(inbox: InboxContext, uri: str | None, follower: int | None, followed: int) -> int | None:
    """Return the follower; None if its follow was undone here before the answer arrived, and another Follow was sent
    since.

    Some servers give our follows other ids, some spell our ids in another way, and some name only the account.
    """
    number = None if uri is None or not inbox.names.is_local(uri) else _fragment_of(uri)
    if follower is None or not number:
        return follower
    current = await inbox.shared.database.read(follows.remote, [follower], [followed])
    return None if any(row.uri is not None and _fragment_of(row.uri) != number for row in current) else follower


def _fragment_of(uri: str) -> str:
    """Return the part of the id of a Follow that is unique among the follows of its account."""
    return unquote(uri).partition("#")[2]


def actor_of(document: JsonObject) -> str | None:
    """Return the actor of an embedded activity."""
    return uri_of(document.get("actor"))


async def reject(inbox: InboxContext, activity: Activity) -> None:
    if (pending := await pending_quote(inbox, activity)) is not None:
        command = RevokeQuote(pending.quoted.id, pending.quoting.id)
        await inbox.ask(activity.actor.id, command, activity.origin)
        return
    follower = await follower_of_answer(inbox, activity)
    if follower is not None:
        await inbox.ask(activity.actor.id, RemoveFollower(follower), activity.origin)


def is_ban(document: JsonObject) -> bool:
    """True for a Block that a moderator sends (FEP-1b12): it bans from the group or the server that is its target."""
    return document.get("target") is not None


async def block(inbox: InboxContext, activity: Activity) -> None:
    target = await inbox.local_account_id(activity.object_uri)
    if target is not None and not is_ban(activity.document):
        await inbox.ask(activity.actor.id, Block(target, activity.id), activity.origin)
