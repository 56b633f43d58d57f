"""The interface to a translation service. Each backend is a file with a class of this shape.

    NotTranslatable            the status has no text, or the service does not know the languages: asking is of no use
    TranslationFailed          the service did not answer, or not with a translation
    ├── TextsNotTaken          it refuses these texts, and may take others
    ├── QuotaUsedUp            it translates no more for this server, or does not know its key
    └── AskedTooOften          it, or this server, has too many requests

Their texts are for the log. They name the cause, and neither the key nor what the service said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

# The codes of the languages that a service translates into, by the language that it translates from.
OfferedLanguages = Mapping[str, Sequence[str]]


class NotTranslatable(Exception):
    """There is no translation, and asking again gives none."""


class TranslationFailed(Exception):
    """There is no translation now."""


class TextsNotTaken(TranslationFailed):
    """The service refuses these texts."""


class QuotaUsedUp(TranslationFailed):
    """The service translates no more for this server."""


class AskedTooOften(TranslationFailed):
    """There are too many requests."""


@dataclass(frozen=True, slots=True)
class TranslatedTexts:
    """The texts in the order of those that were given, and the language that they were in. Nothing of it is checked."""

    texts: Sequence[str]
    source: str


class Translator(Protocol):
    """A translation service."""

    @property
    def provider(self) -> str:
        """The name of the service, for people."""
        ...

    async def languages(self) -> OfferedLanguages:
        """Return the languages. Raise TranslationFailed."""
        ...

    async def translate(self, texts: Sequence[str], source: str | None, target: str) -> TranslatedTexts:
        """Translate pieces of HTML by one request. The service detects the language if there is no `source`.

        Raise TranslationFailed.
        """
        ...

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep connections until `stopping`."""
        ...
