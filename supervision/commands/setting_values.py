"""The value of each setting with its sources, for `troupe config`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.kernel.ids import Ids
from ...storage import changed_settings
from ...storage.engine.cluster import EmbeddedFailed
from ...storage.engine.database import Connection, StorageError
from ...storage.engine.embedded import exists
from ...storage.engine.json_values import JsonObject
from ...storage.engine.migrate import MigrationRefused
from ..configuration import Settings
from ..failures import text_of
from ..sources import MASK, SECRETS, SettingsSources, Source, default, example_of, meaning, variable, written
from .rows import transact

WIDTH = 100


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting: its value as an operator writes it, the source that counts, and those that it comes before."""

    name: str
    text: str
    source: Source
    overridden: Sequence[Source]

    def as_json(self) -> JsonObject:
        return {
            "name": self.name,
            "value": self.text,
            "source": self.source.kind,
            "place": self.source.place,
            "overridden": [
                {"value": _shown(self.name, one), "source": one.kind, "place": one.place} for one in self.overridden
            ],
            "default": default(self.name),
            "secret": self.name in SECRETS,
            "variable": variable(self.name),
            "right": example_of(self.name),
            "meaning": meaning(self.name),
        }

    def explanation(self) -> Iterator[str]:
        """Return the lines that explain this setting."""
        yield f"{self.name} = {self.text}"
        yield from textwrap.wrap(meaning(self.name), WIDTH, initial_indent="  ", subsequent_indent="  ")
        yield f"  From: {self.source.place}."
        for one in self.overridden:
            yield f"  Not used: {_shown(self.name, one)} ({one.place})."
        usual = default(self.name)
        yield f"  Default: {usual}." if usual else "  Default: none."
        yield f"  Right is: {example_of(self.name)}."
        yield f"  Set by: {', '.join(_ways(self.name))}."


def values_of(sources: SettingsSources, changed: Mapping[str, str]) -> Mapping[str, SettingValue]:
    """Return all settings by their names. `changed` are those that staff has changed while the server runs."""
    return {name: _value(name, sources, changed.get(name)) for name in Settings.model_fields}


def changed_settings_of(settings: Settings) -> tuple[Mapping[str, str], str]:
    """Return the settings that staff has changed, from the database; and why they are not known, if they are not."""
    if not settings.database_url and not exists(settings.data):
        return {}, ""  # no server has run here yet
    try:
        return transact(settings, _find), ""
    except (StorageError, EmbeddedFailed, MigrationRefused, OSError) as error:
        return {}, text_of(error)


async def _find(db: Connection, ids: Ids, now: datetime) -> Mapping[str, str]:
    return await changed_settings.find_all(db)


def _value(name: str, sources: SettingsSources, changed: str | None) -> SettingValue:
    value = getattr(sources.settings, name)
    found = [*reversed(sources.of(name)), Source("default", "default", default(name))]
    if changed is not None:
        found.insert(0, Source("changed", f"changed while running (`troupe settings history {name}`)", changed))
        return SettingValue(name, changed, found[0], found[1:-1])
    return SettingValue(name, written(value), found[0], found[1:-1])


def _shown(name: str, source: Source) -> str:
    return MASK if name in SECRETS else written(source.value)


def _ways(name: str) -> Iterator[str]:
    yield variable(name)
    if name in SECRETS:
        yield f"{variable(name)}_FILE"
    yield f"{name} in the settings file"
