"""Sends a notification to a device, from the rows at the time of sending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ...storage import notifications, push_subscriptions, users
from ...storage.accounts import Account
from ...storage.engine.database import Database
from ...storage.push_subscriptions import PushSubscription
from ..cluster.others import Others
from ..kernel import Clock, Origin, Record
from ..outgoing.breaker import Breaker
from ..outgoing.messages import ForbiddenTarget, OutgoingFailure, time_of
from ..rules.filters import Filters, filter_text
from ..rules.visibility import Perspective
from ..shown.filtering import is_hidden
from ..shown.notifications import ShownNotification, show_notifications
from ..shown.statuses import AccountCache, ShownStatus, StatusCache
from .delivery import Deliver, PushReply
from .messages import PushReader, message_of

# The pause while this node of a cluster may have missed facts. Most such times end within a second.
UNTIL_COMPLETE = timedelta(seconds=1)

# The result of a try: accepted, not visible to its reader any more, refused for good, failed for now, or deferred
# because the service asked for a pause, requests to it are paused, or this node may have missed facts.
PushResult = Literal["sent", "not_shown", "ended", "failed", "put_off"]


class PushFailed(Exception):
    """Raised if the push service did not accept the message."""


class PushPutOff(Exception):
    """Raised if a message must not be sent before the time `at`. `tried` is False if no request was sent."""

    def __init__(self, at: datetime, reason: str, *, tried: bool = True) -> None:
        super().__init__(reason)
        self.at = at
        self.tried = tried


@dataclass(frozen=True, slots=True)
class PushContext:
    """The context of a sender. `icon` returns the address of an account's picture."""

    database: Database
    clock: Clock
    accounts: AccountCache
    statuses: StatusCache
    record: Record
    others: Others
    icon: Callable[[Account], str]
    perspective: Callable[[int, Origin], Awaitable[Perspective]]  # of an account, by its id
    filters: Callable[[int, Origin], Awaitable[Filters]]  # of an account, by its id


class PushSender:
    """Sends notifications. Each process has an instance. A restart loses the states of push services."""

    def __init__(self, context: PushContext, deliver: Deliver) -> None:
        self._context = context
        self._deliver = deliver
        self._breaker = Breaker()
        self.results = Counter[PushResult]()

    async def send(self, notification_id: int, subscription_id: int, origin: Origin) -> bool:
        """Send a notification. Return False if the push service does not know the device any more, or must not be used.

        Raise PushPutOff if it must be sent later, and PushFailed if it must be retried.
        """
        database = self._context.database
        subscription = await database.read(push_subscriptions.find_live, subscription_id)
        if subscription is None:
            return True
        try:
            result = await self._try(notification_id, subscription, origin)
        except PushPutOff:
            self.results["put_off"] += 1
            raise
        except PushFailed:
            self.results["failed"] += 1
            raise
        self.results[result] += 1
        return result != "ended"

    async def _try(self, notification_id: int, subscription: PushSubscription, origin: Origin) -> PushResult:
        now = self._context.clock.now()
        if (until := self._breaker.closed_until(subscription.service, now)) is not None:
            raise PushPutOff(until, "messages to this push service are paused", tried=False)
        self._require_complete(now)
        message = await self._message(notification_id, subscription, origin)
        self._require_complete(now)
        if message is None:
            return "not_shown"
        return "sent" if await self._send(subscription, message, f"n{notification_id}") else "ended"

    def _require_complete(self, now: datetime) -> None:
        """Raise PushPutOff if this node may have missed a fact.

        The records of the message and the perspective of its reader are in memory, and a block may hide the message.
        """
        if not self._context.others.is_complete:
            raise PushPutOff(now + UNTIL_COMPLETE, "this server does not hear from its cluster", tried=False)

    async def _message(self, notification_id: int, subscription: PushSubscription, origin: Origin) -> bytes | None:
        """Return the message for a device; None if the notification was deleted or must not be shown to its reader."""
        shown = await self._shown(notification_id, subscription.account_id)
        user = await self._context.database.read(users.find_user, subscription.account_id)
        if shown is None or user is None:
            return None
        if not shown.is_for(await self._context.perspective(subscription.account_id, origin)):
            return None
        if shown.status is not None and await self._is_filtered(shown.status, subscription.account_id, origin):
            return None
        reader = PushReader(subscription.access_token, user.locale)
        return message_of(shown, reader, self._context.icon(shown.account))

    async def _is_filtered(self, status: ShownStatus, account_id: int, origin: Origin) -> bool:
        """True if a filter of the reader hides the status in notifications."""
        filters = await self._context.filters(account_id, origin)
        return is_hidden(status, account_id, "notifications", filters, filter_text, self._context.clock.now)

    async def _shown(self, id: int, account_id: int) -> ShownNotification | None:
        context = self._context
        notification = await context.database.read(notifications.find, account_id, id)
        if notification is None:
            return None
        shown = await show_notifications(context.database, context.accounts, context.statuses, [notification])
        return shown[0] if shown else None

    async def _send(self, subscription: PushSubscription, message: bytes, topic: str) -> bool:
        try:
            reply = await self._deliver(subscription, message, topic)
        except ForbiddenTarget as error:
            self._end(str(error))
            return False
        except OutgoingFailure as error:
            self._breaker.failed(subscription.service, self._context.clock.now())
            raise PushFailed(str(error)) from error
        return self._note_reply(subscription.service, reply)

    def _note_reply(self, service: str, reply: PushReply) -> bool:
        """Return True if the service accepted the message, False if it refused it for good. Raise an error for other
        answers."""
        now, status = self._context.clock.now(), reply.status
        retry_at = time_of(reply.retry_after, now)
        if 200 <= status < 300:
            self._breaker.succeeded(service)
            return True
        if 400 <= status < 500 and status not in (408, 429):
            self._breaker.succeeded(service)
            self._end(f"the push service answered {status}")
            return False
        if status == 429:  # too many for this device; other devices may get messages
            self._breaker.succeeded(service)
        elif retry_at is not None:
            self._breaker.close(service, retry_at)
        else:
            self._breaker.failed(service, now)
        if retry_at is not None:
            raise PushPutOff(retry_at, f"the push service answered {status}")
        raise PushFailed(f"the push service answered {status}")

    def _end(self, reason: str) -> None:
        self._context.record("push.ended", error=reason, decision="the subscription is deleted")
