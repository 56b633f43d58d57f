"""The base of actors that mirror rows: accounts and timelines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from ..storage.engine.database import Connection
from .context import ActorContext
from .kernel import Actor, Cell, Runtime

P = ParamSpec("P")
T = TypeVar("T")


class EntityActor(Actor):
    """An actor with the context that all share. Memory mirrors rows and changes only after commit."""

    def __init__(self, cell: Cell, runtime: Runtime, context: ActorContext) -> None:
        super().__init__(cell, runtime)
        self.context = context

    @property
    def now(self) -> datetime:
        return self.context.clock.now()

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run this turn's one transaction."""
        self.check_current()
        return await self.context.database.transact(work, *args, **kwargs)
