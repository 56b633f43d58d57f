"""The hourly sweep of a stage, at any time."""

from datetime import datetime, timedelta

from troupe.actors.cluster.others import Alone, Others
from troupe.actors.housekeeping.expiry import Expiry

from ..clients import Stage

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Led(Alone):
    """The place of a node of a cluster that another node leads."""

    is_leader = False


class Later:
    """A clock that is ahead of the server's."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.ahead = timedelta()

    def now(self) -> datetime:
        return self._stage.http_context.clock.now() + self.ahead


class Sweeper:
    """The sweep of a server, at any time."""

    def __init__(self, stage: Stage, others: Others | None = None) -> None:
        self.clock = Later(stage)
        self.recorded: list[tuple[str, dict[str, object]]] = []
        http_context = stage.http_context
        self.expiry = Expiry(
            http_context.database, self.clock, self._record, http_context.facts, http_context.tokens,
            http_context.visits, others or Alone(),
        )  # fmt: skip

    async def sweep(self, ahead: timedelta) -> None:
        self.clock.ahead = ahead
        await self.expiry.sweep()

    def _record(self, event: str, /, **facts: object) -> None:
        self.recorded.append((event, facts))
