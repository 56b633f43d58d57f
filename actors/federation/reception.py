"""Decides about a request to an inbox while its sender waits: it is refused, or stored and accepted.

Nothing is applied here. A request is refused only if it is certainly wrong, because other servers never resend a
refused request, and some count a server error as delivered. A signature is refused if its key was fetched and does not
fit, is gone (404, 410), or must not be fetched. If the key can't be fetched now (no answer, an error, a page in its
place), the request waits in the queue `inbox`. It is verified later, or as soon as another request brings the key: it
is then applied before the other request. At most 200 requests wait for the keys of a domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import trio

from ...storage import outbox
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.federation import received_activities, remote_accounts, remote_statuses
from ..activitypub.follower_lists import HEADER, read_header
from ..activitypub.normalization import read_document
from ..activitypub.requests import ReceivedRequest, SignatureRefused
from ..activitypub.signatures import claim_of
from ..activitypub.vocabulary import MalformedDocument, host_of, same_host, types_of, uri_of
from ..context import ActorContext
from ..effects.received_activities import (
    INBOX,
    UNVERIFIED,
    ReceivedActivity,
    UnverifiedActivity,
    received,
    unverified,
    unverified_by,
    unverified_group,
)
from ..kernel import Origin
from ..outbox.outbox import Outbox
from ..rules.domains import registrable
from .activities import HANDLERS
from .inbox_context import standing_of
from .key_directory import AuthenticatedActor, KeyDirectory, KeyGone, KeyUnavailable

# Requests that wait for the keys of a registered domain, and of all domains: an attacker can name any number of keys
# and hosts.
MOST_UNVERIFIED = 200
MOST_UNVERIFIED_OF_ALL = 5_000
LARGEST_UNVERIFIED = 128 * 1024  # bytes of a body
SECONDS_FOR_KEY = 5.0  # that a sender waits while a key is fetched
# Types of activities that can be applied, undone and applied again. With a signature of another time they are no
# repeat: Takahē sends the same Follow again, Ghost the same Like, and Mastodon pins by an activity without an id.
REPEATABLE = frozenset({"Follow", "Like", "Block", "Add", "Remove", "Accept", "Reject", "Undo"})


class SenderSuspended(Exception):
    """Raised for a request of a server that staff have suspended."""


class TooManyUnverified(Exception):
    """Raised if no more requests can wait for the keys of a host."""


class Reception:
    """Receives requests to inboxes. Each process has an instance.

    `check_later` has an account fetched again, which may be gone.
    """

    def __init__(
        self, context: ActorContext, directory: KeyDirectory, check_later: Callable[[Account], None]
    ) -> None:  # fmt: skip
        self._database = context.database
        self._clock = context.clock
        self._outbox = context.outbox
        self._blocks = context.blocks
        self._hosts = context.hosts
        self._directory = directory
        self._check_later = check_later
        self._base_url = context.names.base_url

    async def take(
        self, request: ReceivedRequest, recipient: str | None, count: Callable[[str], None], origin: Origin
    ) -> None:
        """Store an activity.

        `recipient` is the user whose own inbox received it. `count` is called with the actor who has signed it, and may
        raise. Raise MalformedDocument, SignatureRefused, SenderSuspended or TooManyUnverified.
        """
        key_id = claim_of(request, self._clock.now()).key_id
        document = read_document(request.body)
        actor = _actor_of(document)
        if actor is None:
            return
        if host_of(key_id) is None:
            raise SignatureRefused("the key's id is not a web address")
        # Before the key is looked for: a blocked server causes no request.
        self._check_standing(actor)
        self._check_standing(key_id)
        if await self._is_by_unknown_actor(document, actor):
            return
        try:
            signer = await self._authenticate(request)
        except KeyUnavailable:
            await self._store_unverified(request, recipient, key_id, origin)
            return
        except KeyGone:
            is_own_end = "Delete" in types_of(document) and uri_of(document.get("object")) == actor
            if not is_own_end or not same_host(key_id, actor):
                raise
            await self._check_actor(actor)
            return
        # Again, because the owner of the key is known only now.
        self._check_standing(signer.uri)
        count(signer.uri)
        await self._store(request, document, recipient, signer, origin)
        self._outbox.wake(INBOX)
        await self._hosts.note_request_from(host_of(signer.uri) or "")

    async def _store(
        self, request: ReceivedRequest, document: JsonObject, recipient: str | None, signer: AuthenticatedActor,
        origin: Origin,
    ) -> None:  # fmt: skip
        """Store a verified activity for the relay, after the requests that waited for its key."""
        header = request.headers.get(HEADER.lower())
        followers = header if read_header(header, signer.uri) is not None else None
        activity = ReceivedActivity(signer.uri, request.body.decode(), recipient, followers=followers)
        if not await self._take_up_alone(activity, document, signer, origin):
            now, earlier = self._clock.now(), await self._earlier_requests(signer)
            await self._database.transact(
                _take_up_in_order, self._outbox, earlier, activity, signer.signed_at, now, origin
            )

    async def _authenticate(self, request: ReceivedRequest) -> AuthenticatedActor:
        with trio.move_on_after(SECONDS_FOR_KEY):
            return await self._directory.authenticate(request)
        raise KeyUnavailable("no answer in time")

    def _check_standing(self, uri: str) -> None:
        if standing_of(self._blocks.domains, uri).suspended:
            raise SenderSuspended

    async def _is_by_unknown_actor(self, document: JsonObject, actor: str) -> bool:
        """True for the Update or Delete of an actor itself that is not known here. Servers send these to all other
        servers.

        It has no effect here, so that its key need not be fetched.
        """
        if not {"Delete", "Update"}.intersection(types_of(document)) or uri_of(document.get("object")) != actor:
            return False
        return not await self._database.read(remote_statuses.stored_account_ids, [actor])

    async def _check_actor(self, actor: str) -> None:
        """Fetch a known actor again: its key is gone, and an activity says that the actor is gone too."""
        account = await self._database.read(remote_accounts.find, actor)
        if account is not None:
            self._check_later(account)

    async def _take_up_alone(
        self, activity: ReceivedActivity, document: JsonObject, signer: AuthenticatedActor, origin: Origin
    ) -> bool:  # fmt: skip
        """Store an activity for the relay, by one statement. Return False if earlier requests with its key wait."""
        digest = _digest_of(activity, document, signer.signed_at)
        effects = self._outbox.effects_of([received(activity, host_of(activity.signer) or "")], origin)
        return await self._database.transact_alone(
            received_activities.take_up, digest, effects, unverified_by(signer.key_id), self._clock.now()
        )

    async def _earlier_requests(self, signer: AuthenticatedActor) -> list[EarlierRequest]:
        """Return the requests that waited for a key. They are applied before the request by which it was found.

        Requests with invalid signatures are left in the queue.
        """
        waiting = await self._database.read(outbox.under, unverified_by(signer.key_id), MOST_UNVERIFIED)
        found: list[EarlierRequest] = []
        for id, row in waiting:
            stored = UnverifiedActivity.of_row(row)
            request = request_of(stored, self._base_url)
            by = await self._directory.authenticate_known(request, stored.received_at)
            if by is not None:
                activity = ReceivedActivity(by.uri, stored.body, stored.recipient)
                found.append(EarlierRequest(id, activity, by.signed_at))
        return found

    async def _store_unverified(
        self, request: ReceivedRequest, recipient: str | None, key_id: str, origin: Origin
    ) -> None:
        domain = registrable(host_of(key_id) or "")
        if len(request.body) > LARGEST_UNVERIFIED or await self._database.read(_is_full, domain):
            raise TooManyUnverified
        stored = UnverifiedActivity(
            request.path, request.body.decode(), key_id, self._clock.now(), dict(request.headers), recipient
        )
        await self._database.transact(self._outbox.promise, [unverified(stored, domain)], origin)


def _actor_of(document: JsonObject) -> str | None:
    """Return the URI of an activity's actor; None if it has none and is of a type that is ignored.

    Raise MalformedDocument for other activities without an actor.
    """
    actor = uri_of(document.get("actor"))
    if actor is not None and host_of(actor) is not None:
        return actor
    types = types_of(document)
    if types and HANDLERS.keys().isdisjoint(types):
        return None
    raise MalformedDocument("the activity has no actor")


@dataclass(frozen=True, slots=True)
class EarlierRequest:
    """A request that waited for its key, which is stored now."""

    id: int
    activity: ReceivedActivity
    signed_at: datetime


async def _is_full(db: Connection, domain: str) -> bool:
    """True if no more requests can wait for keys of a domain."""
    of_domain = await outbox.count_group(db, INBOX.name, unverified_group(domain), MOST_UNVERIFIED)
    if of_domain >= MOST_UNVERIFIED:
        return True
    of_all = await outbox.count_groups(db, INBOX.name, UNVERIFIED, MOST_UNVERIFIED_OF_ALL)
    return of_all >= MOST_UNVERIFIED_OF_ALL


def request_of(stored: UnverifiedActivity, base_url: str) -> ReceivedRequest:
    """Return a stored request as it was received."""
    return ReceivedRequest("POST", base_url, stored.path, stored.headers, stored.body.encode())


async def _take_up_in_order(
    db: Connection, promises: Outbox, earlier: Sequence[EarlierRequest], activity: ReceivedActivity,
    signed_at: datetime, now: datetime, origin: Origin,
) -> None:  # fmt: skip
    """Store an activity for the relay, after the waiting requests with the same key. Their rows for verification are
    deleted."""
    for request in earlier:
        await take_up(db, promises, request.activity, request.signed_at, now, origin)
    if earlier:
        await outbox.delete_many(db, [request.id for request in earlier])
    await take_up(db, promises, activity, signed_at, now, origin)


async def take_up(
    db: Connection, outbox: Outbox, activity: ReceivedActivity, signed_at: datetime, now: datetime, origin: Origin
) -> None:
    """Store an activity for the relay, unless it was received before."""
    document = read_document(activity.body.encode())
    if await received_activities.insert(db, _digest_of(activity, document, signed_at), now):
        await outbox.promise(db, [received(activity, host_of(activity.signer) or "")], origin)


def _digest_of(activity: ReceivedActivity, document: JsonObject, signed_at: datetime) -> bytes:
    """Return a digest that an activity shares with its repeats.

    A repeatable activity may be sent again, but not with the same signature: that is a replay, which must not undo an
    Undo.
    """
    is_repeatable = not REPEATABLE.isdisjoint(types_of(document))
    once = f"{signed_at.timestamp()} {activity.body}" if is_repeatable else activity.body
    return received_activities.digest_of(activity.signer, uri_of(document), once)
