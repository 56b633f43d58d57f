"""The parts that all actors share: the database, the caches, the clock, the source of ids, and the outbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ..storage.engine.database import Database
from .activitypub.names import LocalNames
from .broadcast.audience import Audience
from .broadcast.broadcast import Broadcast
from .broadcast.publications import Publications
from .broadcast.viewers import Viewers
from .cluster.others import Others
from .deliveries.hosts import KnownHosts
from .facts.fact import Facts
from .kept.custom_emojis import CustomEmojiLoader
from .kept.own_rows import OwnRows
from .kernel import Clock, Ids
from .memory.daily_quotas import DailyQuotas
from .memory.server_blocks import ServerBlocks
from .memory.shared_entries import SharedEntries
from .outbox.outbox import Outbox
from .shown.statuses import AccountCache, StatusCache


@dataclass(frozen=True, slots=True)
class ActorContext:
    """The context of all actors of a process. `base_url` and `local_domain` are the names of this server.

    `audience` has the awake homes by author, `tagged` the awake homes by followed hashtag, `listed` the awake lists by
    author, `owned` the awake lists by owner. `quotas` are the daily quotas of the domains of other servers. This
    process writes ids above `began`.
    """

    database: Database
    clock: Clock
    ids: Ids
    began: int
    accounts: AccountCache
    statuses: StatusCache
    own_rows: OwnRows
    audience: Audience[int]
    tagged: Audience[str]
    listed: Audience[int]
    owned: Audience[int]
    broadcast: Broadcast
    facts: Facts
    viewers: Viewers
    outbox: Outbox
    blocks: ServerBlocks
    custom_emojis: CustomEmojiLoader
    hosts: KnownHosts
    quotas: DailyQuotas
    publications: Publications
    base_url: str
    local_domain: str
    tally_delay: timedelta  # between a vote and the Update for other servers
    shared_entries: SharedEntries  # of all awake timelines
    others: Others  # the other nodes of the cluster

    @property
    def names(self) -> LocalNames:
        """The URIs of this server's accounts, statuses and other objects."""
        return LocalNames(self.base_url)
