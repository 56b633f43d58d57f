"""The queues of effects that talk to other servers, each with the context in which its effects run.

The main queue belongs to the outbox itself (`actors/outbox/fact_relay.py`).
"""

from __future__ import annotations

import secrets
from functools import partial

from ...actors.account import PerspectiveOf, ViewerFlags
from ...actors.activitypub.keys import SigningKeys
from ...actors.broadcast.broadcast import account_address
from ...actors.configuration import Settings
from ...actors.deliveries.followers import FollowerDigests
from ...actors.deliveries.hosts import Chance
from ...actors.deliveries.sender import DeliveryContext, DeliverySender, OnGone, Post
from ...actors.effects.deliveries import DELIVERIES
from ...actors.effects.imports import LOOKUPS, LookupContext
from ...actors.effects.mail import MAIL
from ...actors.effects.previews import PREVIEWS, PreviewContext, ReadPage
from ...actors.effects.push import PUSH
from ...actors.effects.received_activities import INBOX, ActivityReceiver
from ...actors.effects.refreshes import REFRESHES, AccountRefresher
from ...actors.effects.registry import QueueWithContext
from ...actors.facts.accounts import ReloadedAccount, RotatedKey
from ...actors.federation.federation import Federation, Refresher
from ...actors.federation.import_finder import Finder
from ...actors.federation.inbox import Inbox
from ...actors.federation.inbox_context import InboxContext
from ...actors.kernel import Clock, Origin, Record
from ...actors.mail.sender import Letterhead, MailSender
from ...actors.mail.smtp import smtp_of
from ...actors.mail.templates import Sender
from ...actors.push.delivery import Deliver
from ...actors.push.sender import PushContext, PushSender
from ...actors.rules.filters import Filters
from ...actors.rules.visibility import Perspective
from ...http.entities.account import avatar_url
from ...storage.engine.database import Database
from .actor_system import ActorSystem


def mail_queue(settings: Settings, database: Database, clock: Clock) -> QueueWithContext[MailSender]:
    """Return the queue of mails. Without a mail server they wait in the outbox."""
    return QueueWithContext(MAIL, _mail_sender(settings, database, clock))


def push_queue(actors: ActorSystem, record: Record, deliver: Deliver) -> QueueWithContext[PushSender]:
    """Return the queue of messages to the devices of users."""

    async def perspective(account_id: int, origin: Origin) -> Perspective:
        return await actors.runtime.ask(account_address(account_id), PerspectiveOf(), origin=origin)

    async def filters(account_id: int, origin: Origin) -> Filters:
        return (await actors.runtime.ask(account_address(account_id), ViewerFlags(()), origin=origin)).filters

    shared = actors.actor_context
    context = PushContext(
        shared.database, shared.clock, shared.accounts, shared.statuses, record, shared.others,
        partial(avatar_url, base_url=shared.base_url), perspective, filters,
    )  # fmt: skip
    return QueueWithContext(PUSH, PushSender(context, deliver))


def delivery_queue(
    actors: ActorSystem, keys: SigningKeys, post: Post, chance: Chance, first_retry: float, on_gone: OnGone
) -> QueueWithContext[DeliverySender]:
    """Return the queue of activities for other servers."""
    shared = actors.actor_context
    context = DeliveryContext(
        shared.database, shared.clock, keys, FollowerDigests(shared.database, shared.names), shared.blocks,
        actors.hosts, chance, first_retry, on_gone,
    )  # fmt: skip
    actors.facts.observe(RotatedKey, lambda fact: keys.forget(fact.account_id))
    actors.facts.observe(ReloadedAccount, lambda fact: keys.forget(fact.account_id))
    actors.facts.clear_by(keys.clear)
    return QueueWithContext(DELIVERIES, DeliverySender(context, post))


def preview_queue(actors: ActorSystem, read: ReadPage) -> QueueWithContext[PreviewContext]:
    """Return the queue of pages that statuses link to."""
    shared = actors.actor_context
    context = PreviewContext(
        shared.database, shared.clock, shared.ids, shared.outbox, shared.base_url, shared.local_domain, read
    )
    return QueueWithContext(PREVIEWS, context)


def inbox_queue(actors: ActorSystem, federation: Federation) -> QueueWithContext[ActivityReceiver]:
    """Return the queue of activities that other servers have delivered."""
    context = InboxContext(
        actors.actor_context, actors.runtime, federation.names, federation.resolver, federation.fetcher
    )
    return QueueWithContext(INBOX, Inbox(context, federation.directory))


def refresh_queue(actors: ActorSystem, federation: Federation) -> QueueWithContext[AccountRefresher]:
    """Return the queue of accounts of other servers that an operator wants to be fetched again."""
    return QueueWithContext(REFRESHES, Refresher(actors.actor_context.database, federation.resolver))


def lookup_queue(actors: ActorSystem, federation: Federation) -> QueueWithContext[LookupContext]:
    """Return the queue of accounts and posts of other servers that imported files name."""
    shared = actors.actor_context
    finder = Finder(federation.resolver, shared.clock)
    return QueueWithContext(LOOKUPS, LookupContext(shared.database, shared.clock, shared.outbox, finder))


def _mail_sender(settings: Settings, database: Database, clock: Clock) -> MailSender | None:
    smtp = smtp_of(settings)
    if smtp is None:
        return None
    head = Letterhead(Sender(settings.mail_sender, settings.title), settings.base_url)
    return MailSender(database, clock, head, smtp, secret=lambda: secrets.token_urlsafe(32))
