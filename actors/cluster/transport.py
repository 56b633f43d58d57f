"""The port to a transport: datagrams between the nodes of a cluster."""

from __future__ import annotations

from typing import Protocol


class Transport(Protocol):
    """Sends datagrams to nodes by their names. It may lose, repeat and delay them, and so change their order."""

    def send(self, node: str, datagram: bytes) -> None:
        """Send a datagram without waiting."""
        ...
