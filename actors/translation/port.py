"""The interface to a translation service. Each backend is a file with a class of this shape.

    NotTranslatable            the status has no text, or the service does not know the languages: a retry is of no use
    TranslationFailed          the service did not answer, or not with a translation
    ├── TextsNotTaken          it refuses these texts, and may accept others
    ├── QuotaUsedUp            it translates nothing more for this server, or does not know its key
    └── TooManyRequests        it, or this server, has too many requests

Their texts are for the log. They name the cause, and neither the key nor the service's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import trio

# The codes of the languages that a service translates into, by the language that it translates from.
OfferedLanguages = Mapping[str, Sequence[str]]


class NotTranslatable(Exception):
    """Raised if there is no translation, and a retry would give none."""


class TranslationFailed(Exception):
    """Raised if there is no translation now."""


class TextsNotTaken(TranslationFailed):
    """Raised if the service refuses these texts."""


class QuotaUsedUp(TranslationFailed):
    """Raised if the service translates nothing more for this server."""


class TooManyRequests(TranslationFailed):
    """Raised if there are too many requests."""


@dataclass(frozen=True, slots=True)
class TranslatedTexts:
    """The translated texts in the order of the given texts, and the source language. Neither is checked."""

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
        """Translate pieces of HTML in one request. The service detects the language if `source` is None.

        Raise TranslationFailed.
        """
        ...

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep connections until `stopping`."""
        ...
