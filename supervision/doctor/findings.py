"""Findings of `troupe doctor`, and the input of the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from ...storage.engine.json_values import JsonObject
from ..settings.sources import SettingsSources

State = Literal["good", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check. A fault has a cure; a note is a fact that the operator should know."""

    subject: str
    state: State
    text: str
    cure: str = ""

    def as_json(self) -> JsonObject:
        return {"subject": self.subject, "state": self.state, "text": self.text, "cure": self.cure}


@dataclass(frozen=True, slots=True)
class Examination:
    """The objects of the checks: the settings, the database if it can be asked, and the server if it runs.

    `no_database` says why the database can't be asked. `server` is the answer of the control socket, `no_server` why a
    server that runs gave none.
    """

    sources: SettingsSources
    dsn: str | None
    no_database: str = ""
    server: JsonObject | None = None
    no_server: str = ""
    online: bool = False
    mail_to: str | None = None


Check = Callable[[Examination], Iterable[Finding]]
