"""Translations of statuses, by the service in the settings, cached for all viewers.

All texts of a status go to the service as HTML in one request. The answer is treated like HTML of other servers: it is
sanitised and cut, and tags are removed from plain texts. It is cached with its source texts, so that an edited status
is translated again.

A service may be slow, or fail. At most 4 requests run and 32 wait; a viewer waits 15 s at most. After five failures in
a row the service gets no requests for a while (`outgoing/breaker.py`). The log has each failure (`translation.failed`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import trio
from cachetools import LRUCache

from ...storage.statuses import Status
from ..kernel.clock import Clock
from ..kernel.pool_context import Record
from ..memory.computed import Computed
from ..outgoing.breaker import Breaker
from ..rules.languages import LANGUAGES
from .port import NotTranslatable, OfferedLanguages, TextsNotTaken, TooManyRequests, TranslationFailed, Translator
from .texts import StatusTexts, as_html, from_html, texts_of

LANGUAGES_LAST = timedelta(days=1)
LONGEST = 20_000  # characters of a status with all its texts; statuses of other servers may have more
PATIENCE = 15.0  # seconds that a viewer waits at most
AT_ONCE = 4  # requests to the service
MOST_WAITING = 32  # for a place
CACHED_STATUSES = 1000
CACHED_OF_STATUS = 8  # translations into different languages

# The codes that services have for some languages.
WRITTEN = {"zh-cn": ("zh-hans", "zh"), "zh-tw": ("zh-hant", "zt"), "zh-hk": ("zh-hant", "zt"), "pt-br": ("pb",)}
# The languages with regional forms, and these forms: services have other codes for them.
REGIONAL = [code for code in LANGUAGES if "-" in code]
WITH_FORMS = sorted({*REGIONAL, *(code.partition("-")[0] for code in REGIONAL)})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TranslatedStatus:
    """The texts of a status in another language, both languages, and the name of the service."""

    texts: StatusTexts
    source: str
    target: str
    provider: str


@dataclass(frozen=True, slots=True)
class RequestedTranslation:
    """A requested translation, as the key of the cache: the texts, and the service's codes of both languages."""

    texts: StatusTexts
    source: str | None
    target: str


class Translations:
    """Makes and caches translations. Each process has an instance. Without a translator it is not enabled."""

    def __init__(self, translator: Translator | None, clock: Clock, record: Record) -> None:
        self._translator = translator
        self._clock = clock
        self._record = record
        self._cached: LRUCache[int, LRUCache[RequestedTranslation, TranslatedStatus]] = LRUCache(CACHED_STATUSES)
        self._languages = Computed(self._load_languages, clock, LANGUAGES_LAST)
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._breaker = Breaker()
        self._failure = TranslationFailed("requests to the service are paused")  # the last failure

    @property
    def enabled(self) -> bool:
        return self._translator is not None

    async def languages(self) -> OfferedLanguages:
        """Return the languages that the service offers; empty without a service. Raise TranslationFailed."""
        if self._translator is None:
            return {}
        with trio.move_on_after(PATIENCE):
            return await self._languages.get()
        raise TranslationFailed("no answer in time")

    async def translate(self, status: Status, language: str) -> TranslatedStatus:
        """Return the texts of a status in a language. Raise NotTranslatable and TranslationFailed."""
        if self._translator is None:
            raise NotTranslatable("there is no translation service")
        texts = texts_of(status)
        if not 0 < texts.characters <= LONGEST:
            raise NotTranslatable("there is no text, or too much of it")
        translator = self._translator
        with trio.move_on_after(PATIENCE):
            requested = RequestedTranslation(texts, *pair_of(await self._languages.get(), status.language, language))
            cached = self._find(status.id, requested)
            return cached or await self._request(lambda: self._make(translator, status.id, requested))
        raise TranslationFailed("no answer in time")

    def drop(self, id: int) -> None:
        """Drop the translations of a status that was edited or deleted."""
        self._cached.pop(id, None)

    async def _make(self, translator: Translator, id: int, requested: RequestedTranslation) -> TranslatedStatus:
        """Return a translation. Another request may have cached it while this request waited for a place."""
        if (cached := self._find(id, requested)) is not None:
            return cached
        answer = await translator.translate(as_html(requested.texts), requested.source, requested.target)
        made = TranslatedStatus(
            from_html(requested.texts, answer.texts), answer.source, requested.target, translator.provider
        )
        self._cached.setdefault(id, LRUCache(CACHED_OF_STATUS))[requested] = made
        return made

    def _find(self, id: int, requested: RequestedTranslation) -> TranslatedStatus | None:
        cached = self._cached.get(id)
        return None if cached is None else cached.get(requested)

    async def _load_languages(self) -> OfferedLanguages:
        return {} if self._translator is None else await self._request(self._translator.languages)

    async def _request(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send a request when there is a place. Raise TranslationFailed."""
        if self._places.statistics().tasks_waiting >= MOST_WAITING:
            raise TooManyRequests("too many requests wait")
        async with self._places:
            if self._breaker.closed_until("service", self._clock.now()) is not None:
                raise type(self._failure)(str(self._failure))
            try:
                answer = await request()
            except TranslationFailed as error:
                self._record("translation.failed", error=str(error))
                if not isinstance(error, TextsNotTaken):
                    self._failure = error
                    self._breaker.failed("service", self._clock.now())
                raise
        self._breaker.succeeded("service")
        return answer


def pair_of(offered: OfferedLanguages, written: str | None, wanted: str) -> tuple[str | None, str]:
    """Return the service's codes of the languages to translate from and to. Raise NotTranslatable.

    A status without a language may be in any language that the service knows.
    """
    source = None if written is None else code_among(offered, written)
    if written is not None and source is None:
        raise NotTranslatable("the service does not know the language of the status")
    target = code_among(all_targets(offered) if source is None else offered[source], wanted)
    if target is None:
        raise NotTranslatable("the service does not translate into this language")
    return source, target


def all_targets(offered: OfferedLanguages) -> list[str]:
    """Return all languages into which the service translates."""
    return sorted({target for targets in offered.values() for target in targets})


def with_own_codes(offered: OfferedLanguages) -> OfferedLanguages:
    """Return the languages also under this server's codes, which clients look up."""
    named = {code: _with_own_codes(targets) for code, targets in offered.items()}
    return named | {own: named[code] for own in WITH_FORMS if own not in named and (code := code_among(offered, own))}


def _with_own_codes(codes: Iterable[str]) -> list[str]:
    return sorted({*codes, *(own for own in WITH_FORMS if code_among(codes, own) is not None)})


def code_among(codes: Iterable[str], language: str) -> str | None:
    """Return a service's code of a language: of its regional form, else of the plain language, else of another form."""
    known = {code.lower(): code for code in sorted(codes, reverse=True)}
    language = language.strip().replace("_", "-").lower()
    base = language.partition("-")[0]
    for candidate in (language, *WRITTEN.get(language, ()), base):
        if candidate in known:
            return known[candidate]
    return next((known[code] for code in reversed(known) if code.partition("-")[0] == base), None)
