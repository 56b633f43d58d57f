"""The actors of a server process, and the parts that they share: caches, facts and the outbox.

The server and the simulation kit make them here, each over its own database, clock and source of ids.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from ...actors import commands
from ...actors.account import AccountActor
from ...actors.broadcast.audience import Audience
from ...actors.broadcast.broadcast import Broadcast
from ...actors.broadcast.publications import Publications
from ...actors.broadcast.viewers import Viewers
from ...actors.cluster.others import Others
from ...actors.context import ActorContext
from ...actors.deliveries.hosts import Chance, KnownHosts
from ...actors.effects.deliveries import DELIVERIES
from ...actors.entity import EntityActor
from ...actors.facts.fact import Facts
from ...actors.kept import custom_emojis
from ...actors.kept.custom_emojis import CustomEmojiLoader
from ...actors.kept.own_rows import OwnRows
from ...actors.kept.withdrawals import Withdrawals
from ...actors.kernel import IDLE, Cell, Clock, Ids, Record, Runtime, SharedBound
from ...actors.memory import server_blocks
from ...actors.memory.daily_quotas import DailyQuotas
from ...actors.memory.server_blocks import ServerBlocks
from ...actors.memory.shared_entries import SharedEntries
from ...actors.outbox.outbox import Outbox
from ...actors.outbox.relay import AnyRelay
from ...actors.shown.statuses import AccountCache, StatusCache
from ...actors.timelines.home import HomeTimeline
from ...actors.timelines.list import ListTimeline
from ...actors.timelines.public import PublicTimeline
from ...actors.timelines.tag import TagTimeline
from ...storage.engine.database import Database
from ...storage.files import Folder
from ..supervisor import Child

__all__ = ["ActorSystem", "commands"]  # importing the commands registers their turns

# Every request for a hashtag's timeline wakes it, also for a tag that does not exist.
MOST_TAGS = 10_000

TIMELINE_MEMORY = 256 * 2**20  # bytes that all awake timelines may hold together


class ActorSystem:
    """A pool of each kind of actor, with the parts that all actors share.

    `others` makes the port to the other nodes of a cluster. Without it the process is alone.
    """

    def __init__(
        self,
        database: Database,
        runtime: Runtime,
        clock: Clock,
        ids: Ids,
        record: Record,
        *,
        base_url: str,
        local_domain: str,
        limited_federation: bool = False,
        idle: float = IDLE,
        folder: Folder | None = None,
        chance: Chance = random.random,
        tally_delay: float = 180.0,
        timeline_memory: Callable[[], int] = lambda: TIMELINE_MEMORY,
        others: Callable[[Facts, Publications], Others] | None = None,
    ) -> None:
        self.runtime = runtime
        self.accounts = AccountCache(database)
        self.statuses = StatusCache(database, self.accounts)
        audience, tagged = Audience[int](), Audience[str]()
        listed, owned = Audience[int](), Audience[int]()
        publications = Publications(ids)
        broadcast = Broadcast(runtime, audience, tagged, listed, owned, publications)
        self.viewers = Viewers(database, ids.next)
        self.facts = Facts(database, clock, ids, self.accounts, self.statuses, self.viewers, broadcast)
        if others is not None:
            self.facts.others = others(self.facts, publications)
        self.own_rows = OwnRows()
        self.own_rows.observe(self.facts)
        self.blocks = ServerBlocks(database, limited=limited_federation)
        self.withdrawals = Withdrawals(self.accounts, self.statuses, self.blocks, runtime.waiting_events)
        self.withdrawals.observe(self.facts)
        self.outbox = Outbox(database, runtime, clock, ids, self.facts, publications, record, folder)
        self.hosts = KnownHosts(database, clock, record, chance, partial(self.outbox.wake, DELIVERIES))
        self.custom_emojis = CustomEmojiLoader(database, self.facts)
        self.facts.load_by(server_blocks.NOTICE, self.blocks.reload)
        self.facts.load_by(custom_emojis.NOTICE, self.custom_emojis.reload)
        self.actor_context = ActorContext(
            database, clock, ids, ids.next(), self.accounts, self.statuses, self.own_rows, audience, tagged, listed,
            owned, broadcast, self.facts, self.viewers, self.outbox, self.blocks, self.custom_emojis, self.hosts,
            self._quotas(clock), publications, base_url, local_domain, timedelta(seconds=tally_delay),
            SharedEntries(timeline_memory), self.facts.others,
        )  # fmt: skip
        add = partial(runtime.add, idle=idle)
        bound = SharedBound(self.actor_context.shared_entries.is_exceeded)
        self.pools = {
            "accounts": add("account", AccountActor, self._factory(AccountActor)),
            "homes": add("home", HomeTimeline, self._factory(HomeTimeline), bound=bound),
            "lists": add("list", ListTimeline, self._factory(ListTimeline), bound=bound),
            "publics": add("public", PublicTimeline, self._factory(PublicTimeline), bound=bound),
            "tags": add("tag", TagTimeline, self._factory(TagTimeline), most_awake=MOST_TAGS, bound=bound),
        }

    def _quotas(self, clock: Clock) -> DailyQuotas:
        if (counts := self.facts.others.counts) is None:
            return DailyQuotas()
        # Late: only a node of a cluster has other quotas.
        from ...actors.cluster.counts import DailyQuotasOfNodes

        return DailyQuotasOfNodes(counts, clock.now)

    def _factory(self, actor: type[EntityActor]) -> Callable[[Cell], EntityActor]:
        """Return the function that makes the incarnations of a kind of actor."""
        return lambda cell: actor(cell, self.runtime, self.actor_context)

    def children(self) -> list[Child]:
        """Return the pools, then the housekeeping of all pools."""
        pools = [Child(name, pool.run, inspect=pool.summary) for name, pool in self.pools.items()]
        return [*pools, Child("housekeeping", self.runtime.run)]

    def loaders(self) -> list[Child]:
        """Return the children that keep rows in memory for all actors. They start after the pools."""
        return [Child("emojis", self.custom_emojis.run), Child("blocks", self.blocks.run)]

    def slept(self) -> int:
        """Return how many times an actor has gone to sleep."""
        return sum(pool.slept for pool in self.pools.values())

    def relays(self) -> list[Child]:
        """Return a child for each queue of the outbox. They start after the pools."""
        return [
            Child(relay.queue.name, relay.run, grace=relay.queue.grace, inspect=partial(self._inspect, relay))
            for relay in self.outbox.relays
        ]

    def _inspect(self, relay: AnyRelay) -> dict[str, object]:
        return relay.inspect() | (self.hosts.inspect() if relay.queue is DELIVERIES else {})

    def cut_streams(self) -> None:
        """Close the streams of all actors."""
        for pool in self.pools.values():
            pool.cut_streams()
