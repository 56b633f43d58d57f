"""A node: a server process on a database.

The operator gives each node a name, which it keeps when its process is started again. The name of a node's lease
connection identifies its process, so that another process can name it to the operator.
"""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

# Shorter than the names of uploads, which lay where the folders of the nodes are now (`storage/files.py`).
NODE_NAME = re.compile(r"^[a-z0-9-]{1,16}$")

PREFIX = "troupe/lease"
# PostgreSQL cuts longer names off.
LONGEST_NAME = 63
INSTANT = "%Y-%m-%dT%H:%M:%SZ"
NAME = re.compile(PREFIX + r"(?P<shared>-node)? (?P<pid>\d+) (?P<since>\S+) (?P<host>.+)")


@dataclass(frozen=True, slots=True)
class Node:
    """A server process: its host, its process number there, and when it started."""

    host: str
    pid: int
    since: str

    def lease_name(self, *, shared: bool = False) -> str:
        """Return the `application_name` of its lease connection. A long host name is cut off.

        `shared` is for a node of a cluster, which holds the database together with others.
        """
        kind = "-node" if shared else ""
        return f"{PREFIX}{kind} {self.pid} {self.since} {self.host}"[:LONGEST_NAME]

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


def parse(lease_name: str | None) -> Node | None:
    """Return the node of a lease connection. None for a name of another form."""
    found = NAME.fullmatch(lease_name or "")
    return Node(found["host"], int(found["pid"]), found["since"]) if found else None


def shares(lease_name: str | None) -> bool:
    """True for the lease connection of a node of a cluster."""
    found = NAME.fullmatch(lease_name or "")
    return found is not None and found["shared"] is not None


@cache
def this_node() -> Node:
    """Return this process, as of the first call."""
    host = socket.gethostname().encode("ascii", "replace").decode() or "localhost"
    node = Node(host, os.getpid(), datetime.now(UTC).strftime(INSTANT))
    return parse(node.lease_name()) or node  # with its host as other processes read it
