"""The other nodes of a cluster, as the rest of this room sees them. A server that is alone has none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ...storage.engine.database import Entering
from ..kernel import Origin
from ..kernel.errors import NotAnswered


class Incomplete(NotAnswered):
    """Raised in place of an answer from memory while this node may have missed a fact of another node."""

    retry_after = 1


class CountsOfNodes(Protocol):
    """The counts of rate limits that the nodes of a cluster share.

    A window is named by its end, in seconds since 1970.
    """

    def add(self, rule: str, limit: int, ends: int, subject: str, used: int) -> int:
        """Note that this node has counted a subject up to `used`. Return what the other nodes have counted."""
        ...

    def of_others(self, rule: str, ends: int, subject: str) -> int:
        """Return what the other nodes have counted."""
        ...


class Others(Protocol):
    """The other nodes of the cluster, and the place of this node among them."""

    @property
    def is_alone(self) -> bool:
        """True for a server that is no node of a cluster, and never becomes one."""
        ...

    @property
    def is_complete(self) -> bool:
        """True if this node has received all facts of the other nodes up to a moment ago, and may answer from memory.

        Otherwise requests that depend on memory are refused, and streams pause.
        """
        ...

    @property
    def is_leader(self) -> bool:
        """True if this node does the work that only one node of a cluster must do."""
        ...

    @property
    def counts(self) -> CountsOfNodes | None:
        """The counts of rate limits that the nodes share. None: this server is alone, and always will be."""
        ...

    def owns(self, shard: int) -> bool:
        """True if this node writes the rows of the accounts in a shard."""
        ...

    def took(self, shard: int) -> bool:
        """True if this node owns a shard that it has taken since it started, and may have facts of it to publish.

        The former owner may have committed facts that it has not published. It is true until they are published.
        """
        ...

    @property
    def taken(self) -> Sequence[Entering]:
        """The shards for which `took` is true, with their epochs."""
        ...

    def settle(self, taken: Entering) -> None:
        """Note that all facts are published that the former owner of a shard has committed."""
        ...

    def send(self, facts: Sequence[object], origin: Origin) -> Awaitable[None] | None:
        """Send the facts of a commit to all nodes. Return the wait for their acknowledgements; None if there are none.

        After the wait no node answers from memory without these facts.
        """
        ...

    def observe(self, on_change: Callable[[], None]) -> None:
        """Call a function whenever `is_complete` changes, in the task that changes it. The function must not wait.

        At the end of completeness it is called before the node is complete again, even if that is at once.
        """
        ...


class Alone:
    """The place of a server that is the only node: it owns all shards, and there is no other node to hear from."""

    is_alone = is_complete = is_leader = True
    counts: CountsOfNodes | None = None

    def owns(self, shard: int) -> bool:
        return True

    def took(self, shard: int) -> bool:
        return False

    taken: Sequence[Entering] = ()

    def settle(self, taken: Entering) -> None:
        """Nothing was taken."""

    def send(self, facts: Sequence[object], origin: Origin) -> Awaitable[None] | None:
        return None

    def observe(self, on_change: Callable[[], None]) -> None:
        """Never call it: nothing changes."""
