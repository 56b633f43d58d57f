"""Sends an activity to an inbox on another server, and decides by the answer whether to retry.

Each try sends the stored body with a new date and signature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import trio

from ...storage.engine.database import Database
from ...storage.federation import activities
from ...storage.federation.activities import StoredActivity
from ...storage.federation.hosts import Host
from ..activitypub.keys import SigningKeys, with_private
from ..activitypub.signatures import SignatureScheme, SigningKey, sign
from ..activitypub.vocabulary import CONTENT_TYPE, host_of
from ..kernel import Clock
from ..memory.server_blocks import ServerBlocks
from ..outgoing.client import OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import ForbiddenTarget, OutgoingFailure, time_of
from .followers import FollowerDigests
from .hosts import Chance, KnownHosts

LIMITS = RequestLimits(seconds=10, body=64 * 1024, cut=True)
# Answers after which the other signature scheme is tried, once.
UNSIGNED = (400, 401)
# Answers of 400 to 499 after which a retry may succeed.
PASSING = (401, 408, 425, 429)
# The inbox has moved or is gone. The actor's document has the new address. A redirect is not followed, because it does
# not prove the owner of the new address.
MOVED_OR_GONE = (301, 308, 410)
IN_TROUBLE = (429, 503)  # with a Retry-After: the host names the time of the next delivery
LONGEST_RETRY = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class DeliveryReply:
    """The answer of an inbox. `retry_after` is its header."""

    status: int
    retry_after: str | None = None


# Posts a body to an inbox. Raises OutgoingFailure.
Post = Callable[[str, Mapping[str, str], bytes], Awaitable[DeliveryReply]]

OnGone = Callable[[str, str], Awaitable[None]]


# The state of a host before a delivery: without any successful delivery, working, or with failures since the last one.
HostClass = Literal["new", "working", "failing"]
# The result of a try: accepted, refused for good, failed for now, or not tried because deliveries are paused.
DeliveryResult = Literal["delivered", "refused", "failed", "left_alone"]


class DeliveryPutOff(Exception):
    """Raised if an activity must not be sent before the time `at`. `tried` is False if no request was sent."""

    def __init__(self, at: datetime, reason: str, *, tried: bool = True) -> None:
        super().__init__(reason)
        self.at = at
        self.tried = tried


class DeliveryRefused(Exception):
    """Raised if an activity must not be sent again."""


@dataclass(frozen=True, slots=True)
class DeliveryContext:
    """The context of deliveries.

    `first_retry` is in seconds. `on_gone` is called with an inbox that has moved or is gone, and the domain of its
    account.
    """

    database: Database
    clock: Clock
    keys: SigningKeys
    followers: FollowerDigests
    blocks: ServerBlocks
    hosts: KnownHosts
    chance: Chance
    first_retry: float
    on_gone: OnGone


@dataclass(slots=True, eq=False)
class ActivityRead:
    """A running read of the row of an activity, which concurrent deliveries share."""

    ended: trio.Event = field(default_factory=trio.Event)
    succeeded: bool = False
    found: StoredActivity | None = None


class DeliverySender:
    """Sends activities. Each process of the server has an instance."""

    def __init__(self, context: DeliveryContext, post: Post) -> None:
        self._context = context
        self._post = post
        self._reads: dict[int, ActivityRead] = {}  # by the ids of activities
        self.results = Counter[tuple[HostClass, DeliveryResult]]()

    async def send(self, activity_id: int, inbox: str, domain: str, attempt: int) -> None:
        """Send an activity to an inbox of accounts of a domain. An activity without a row needs no delivery.

        Raise DeliveryPutOff if it must be sent later, and DeliveryRefused if it must not be sent again.
        """
        context, host = self._context, host_of(inbox)
        if host is None or is_barred(context.blocks, host, domain):
            raise DeliveryRefused("the domain is blocked or not allowed")
        known = _class_of(await context.hosts.find(host))
        if (until := await context.hosts.closed_until(host)) is not None:
            self.results[known, "left_alone"] += 1
            raise DeliveryPutOff(self._spread(until), "deliveries to this host are paused", tried=False)
        before = context.keys.changes
        activity = await self._find(activity_id)
        if activity is None:
            return
        key = await self._key_of(activity)
        if context.keys.changes != before:
            # The key may be newer than the row as it was read: a replacement stores the former key there.
            activity = await context.database.read(activities.find, activity_id)
            if activity is None:
                return
        result: DeliveryResult = "failed"
        try:
            await self._deliver(activity, key, inbox, host, domain, attempt)
            result = "delivered"
        except DeliveryRefused:
            result = "refused"
            raise
        finally:
            self.results[known, result] += 1

    async def _find(self, id: int) -> StoredActivity | None:
        """Return an activity; None if it was withdrawn. Concurrent deliveries share a read."""
        while (read := self._reads.get(id)) is not None:
            await read.ended.wait()
            if read.succeeded:
                return read.found
        read = self._reads[id] = ActivityRead()
        try:
            read.found = await self._context.database.read(activities.find, id)
            read.succeeded = True
            return read.found
        finally:
            del self._reads[id]
            read.ended.set()

    async def _key_of(self, activity: StoredActivity) -> SigningKey:
        """Return the present key of the sender."""
        keys = self._context.keys
        return await (keys.of_server() if activity.account_id is None else keys.of_account(activity.account_id))

    async def _deliver(
        self, activity: StoredActivity, key: SigningKey, inbox: str, host: str, domain: str, attempt: int
    ) -> None:
        hosts = self._context.hosts
        try:
            reply, scheme = await self._send_signed(activity, key, inbox, host)
        except ForbiddenTarget as error:
            raise DeliveryRefused(str(error)) from error
        except OutgoingFailure as error:
            await hosts.failed(host, str(error))
            raise self._later(attempt, str(error)) from error
        if 200 <= reply.status < 300:
            await hosts.succeeded(host, scheme)
            return
        if reply.status in MOVED_OR_GONE:
            await self._context.on_gone(inbox, domain)
        await self._note_reply(reply, host, attempt)

    async def _send_signed(
        self, activity: StoredActivity, key: SigningKey, inbox: str, host: str
    ) -> tuple[DeliveryReply, SignatureScheme]:
        """Send with the key that the account had when the activity was stored. If the host refuses it, send with the
        present key."""
        former = activity.private_key
        if former is None:
            return await self._send_with(activity, key, inbox, host)
        reply, scheme = await self._send_with(activity, with_private(key, former), inbox, host)
        return await self._send_with(activity, key, inbox, host) if reply.status in UNSIGNED else (reply, scheme)

    async def _send_with(
        self, activity: StoredActivity, key: SigningKey, inbox: str, host: str
    ) -> tuple[DeliveryReply, SignatureScheme]:
        """Send with the scheme that worked before, and with the other scheme if the host refuses the first."""
        known = (await self._context.hosts.find(host)).signature_scheme
        first: SignatureScheme = "rfc9421" if known == "rfc9421" else "cavage"
        reply = await self._try(activity, key, inbox, first)
        if reply.status not in UNSIGNED:
            return reply, first
        other: SignatureScheme = "cavage" if first == "rfc9421" else "rfc9421"
        second = await self._try(activity, key, inbox, other)
        return (second, other) if 200 <= second.status < 300 else (reply, first)

    async def _try(
        self, activity: StoredActivity, key: SigningKey, inbox: str, scheme: SignatureScheme
    ) -> DeliveryReply:
        body = activity.body.encode()
        more = await self._context.followers.headers_of(activity, inbox)
        headers = sign(key, "POST", inbox, body, self._context.clock.now(), scheme, more)
        return await self._post(inbox, {"Content-Type": CONTENT_TYPE, **headers}, body)

    async def _note_reply(self, reply: DeliveryReply, host: str, attempt: int) -> None:
        """Note an answer that is no success in the state of the host, and raise its error."""
        hosts, status, reason = self._context.hosts, reply.status, f"the host answered {reply.status}"
        if 400 <= status < 500 and status not in PASSING:
            await hosts.answered(host)
            raise DeliveryRefused(reason)
        if status == 501:
            raise DeliveryRefused(reason)
        retry_at = time_of(reply.retry_after, self._context.clock.now())
        if status in IN_TROUBLE and retry_at is not None:
            await hosts.failed(host, reason, until=retry_at)
            raise DeliveryPutOff(self._spread(retry_at), reason)
        if status >= 500:
            await hosts.failed(host, reason)
        else:
            await hosts.answered(host)
        raise self._later(attempt, reason)

    def _later(self, attempt: int, reason: str) -> DeliveryPutOff:
        """Return the error with the time of the retry. Each pause is three times the last, up to six hours, with some
        jitter."""
        wait = min(self._context.first_retry * 3 ** min(attempt - 1, 20), LONGEST_RETRY.total_seconds())
        seconds = wait * (0.8 + 0.4 * self._context.chance())
        return DeliveryPutOff(self._context.clock.now() + timedelta(seconds=seconds), reason)

    def _spread(self, at: datetime) -> datetime:
        """Return a time up to five seconds after `at`, so that waiting deliveries do not arrive at once."""
        return at + timedelta(seconds=5 * self._context.chance())


def _class_of(host: Host) -> HostClass:
    return "failing" if host.failures else "new" if host.delivered_at is None else "working"


class ClientPost:
    """Posts with the client for requests to other servers. A redirect is returned, and not followed."""

    def __init__(self, client: OutgoingClient) -> None:
        self._client = client

    async def __call__(self, inbox: str, headers: Mapping[str, str], body: bytes) -> DeliveryReply:
        answer = await self._client.send(OutgoingRequest("POST", inbox, headers, body), LIMITS)
        return DeliveryReply(answer.status, answer.headers.get("retry-after"))


def is_barred(blocks: ServerBlocks, host: str, domain: str) -> bool:
    """True if the blocks of staff forbid deliveries to a host, or to the accounts of a domain."""
    standing_of = blocks.domains.standing_of
    return standing_of(host).suspended or standing_of(domain).suspended
