"""The other nodes of a cluster, from which a test can separate the server."""

from collections.abc import Callable

from troupe.actors.cluster.others import Alone


class SeparableOthers(Alone):
    """Other nodes that never do anything. The test decides if the server may have missed their facts."""

    def __init__(self) -> None:
        self.is_complete = True
        self._observers: list[Callable[[], None]] = []

    def observe(self, on_change: Callable[[], None]) -> None:
        self._observers.append(on_change)

    def separate(self) -> None:
        self._become(complete=False)

    def rejoin(self) -> None:
        self._become(complete=True)

    def _become(self, *, complete: bool) -> None:
        self.is_complete = complete
        for on_change in self._observers:
            on_change()
