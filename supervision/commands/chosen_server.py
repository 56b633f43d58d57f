"""The server that a command works on, as the options of the command choose it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ...actors.configuration import Settings
from ..settings.domain import domain_of
from ..settings.sources import ConfigurationError, SettingsSources, read_sources
from .refusals import WrongValue

if TYPE_CHECKING:
    from .rows import Transact

T = TypeVar("T")


@dataclass(frozen=True)
class ChosenServer:
    """The server whose data and settings the options of a command name.

    Settings are read when they are first used: a question comes before an error in them.
    """

    config: Path | None
    chosen: Mapping[str, object]

    @cached_property
    def sources(self) -> SettingsSources:
        """The settings with their sources. The command line comes before all other sources."""
        try:
            return read_sources(self.chosen, os.environ, self.config)
        except ConfigurationError as error:
            raise WrongValue(str(error)) from None

    def options(self, *without: str) -> list[str]:
        """Return the options that choose this server, for another command line, without those of some settings."""
        chosen = {"config": self.config} | {name: self.chosen[name] for name in self.chosen if name not in without}
        return [
            word
            for name, value in chosen.items()
            if value is not None
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]

    @property
    def settings(self) -> Settings:
        return self.sources.settings

    @property
    def domain(self) -> str:
        """The domain of the server whose data the settings name."""
        return domain_of(self.settings)

    def transact(self, work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False) -> T:
        """Run `work(connection, here, *args)` in a transaction; with `dry_run`, roll it back."""
        with self.transactions() as run:
            return run(work, *args, dry_run=dry_run)

    def transactions(self) -> AbstractContextManager[Transact]:
        """Return a function that runs transactions, for commands that need several."""
        from .rows import transactions

        return transactions(self.settings)
