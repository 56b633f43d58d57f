"""The place of this server in a cluster: its membership, the other nodes, and the bus between them."""

from __future__ import annotations

from ...actors.broadcast.publications import Publications
from ...actors.cluster.cluster import OtherNodes
from ...actors.cluster.membership import Member, Membership
from ...actors.cluster.nats.transport import NatsTransport
from ...actors.codec import CODEC
from ...actors.configuration import Settings
from ...actors.facts.fact import Facts
from ...actors.kernel import Ids, Record, Runtime
from ...storage.engine.nodes import connection_name
from ..supervisor import Child
from .database import SupervisedDatabase


class ClusterNode:
    """A node of a cluster. The parts of the server know it as their `Others`, and the runtime as its owners."""

    def __init__(
        self, settings: Settings, bus: str, database: SupervisedDatabase, runtime: Runtime, facts: Facts,
        publications: Publications, ids: Ids, record: Record,
    ) -> None:  # fmt: skip
        self._database = database
        membership = Membership(database, settings.node)
        database.own = membership.own

        self._bus = NatsTransport(bus, settings.node, settings.local_domain, record)
        self.others = OtherNodes(
            membership, self._bus, database, runtime, CODEC, facts, publications, ids, record,
            on_joined=self._name_connections,
        )  # fmt: skip
        self._bus.receive = self.others.receive
        runtime.owners = self.others.commands

    def children(self) -> list[Child]:
        """Return the bus, then the node. They start after the pools of actors."""
        return [
            Child("bus", self._bus.run, inspect=self._inspect_bus),
            Child("cluster", self.others.run, inspect=self.others.inspect),
        ]

    def _inspect_bus(self) -> dict[str, object]:
        return {"connected": self._bus.is_connected}

    def _name_connections(self, member: Member) -> None:
        self._database.rename(connection_name(member.name, member.incarnation))
