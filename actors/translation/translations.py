"""Translations of statuses: made by the service that the operator has named, and cached for all viewers.

All texts of a status go to the service as HTML in one request. The answer is treated like HTML of other servers: it is
sanitized, cut, and its plain texts are freed of tags. It is cached with the texts that it was made from, so that an
edited status is translated anew.

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
from .port import AskedTooOften, NotTranslatable, OfferedLanguages, TextsNotTaken, TranslationFailed, Translator
from .texts import StatusTexts, as_html, from_html, texts_of

LANGUAGES_LAST = timedelta(days=1)
LONGEST = 20_000  # characters of a status with all its texts; another server's may have more
PATIENCE = 15.0  # seconds that a viewer waits at most
AT_ONCE = 4  # requests to the service
MOST_WAITING = 32  # for one of these places
STATUSES_KEPT = 1000
KEPT_OF_STATUS = 8  # translations: into several languages

# Languages whose code does not tell how a service writes them.
WRITTEN = {"zh-cn": ("zh-hans", "zh"), "zh-tw": ("zh-hant", "zt"), "zh-hk": ("zh-hant", "zt"), "pt-br": ("pb",)}
# The languages of statuses that have several forms, with their forms: services have other codes for these.
REGIONAL = [code for code in LANGUAGES if "-" in code]
WITH_FORMS = sorted({*REGIONAL, *(code.partition("-")[0] for code in REGIONAL)})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TranslatedStatus:
    """The texts of a status in another language, which languages these are, and which service translated."""

    texts: StatusTexts
    source: str
    target: str
    provider: str


@dataclass(frozen=True, slots=True)
class TextsWish:
    """Texts and the service's codes of two languages. After an edit the texts are others, and so is the wish."""

    texts: StatusTexts
    source: str | None
    target: str


class Translations:
    """One for each process. Without a translator it is not enabled, and there are no translations."""

    def __init__(self, translator: Translator | None, clock: Clock, record: Record) -> None:
        self._translator = translator
        self._clock = clock
        self._record = record
        self._kept: LRUCache[int, LRUCache[TextsWish, TranslatedStatus]] = LRUCache(STATUSES_KEPT)
        self._languages = Computed(self._load_languages, clock, LANGUAGES_LAST)
        self._places = trio.CapacityLimiter(AT_ONCE)
        self._breaker = Breaker()
        self._failure = TranslationFailed("requests to the service are paused")  # the last one

    @property
    def enabled(self) -> bool:
        return self._translator is not None

    async def languages(self) -> OfferedLanguages:
        """Return the languages that the service offers; none without a service. Raise TranslationFailed."""
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
            wish = TextsWish(texts, *pair_of(await self._languages.get(), status.language, language))
            kept = self._find(status.id, wish)
            return kept or await self._ask(lambda: self._make(translator, status.id, wish))
        raise TranslationFailed("no answer in time")

    def drop(self, id: int) -> None:
        """Forget the translations of a status that was edited or deleted."""
        self._kept.pop(id, None)

    async def _make(self, translator: Translator, id: int, wish: TextsWish) -> TranslatedStatus:
        """Return a translation. Another request may have made it while this one waited for its place."""
        if (kept := self._find(id, wish)) is not None:
            return kept
        answer = await translator.translate(as_html(wish.texts), wish.source, wish.target)
        made = TranslatedStatus(from_html(wish.texts, answer.texts), answer.source, wish.target, translator.provider)
        self._kept.setdefault(id, LRUCache(KEPT_OF_STATUS))[wish] = made
        return made

    def _find(self, id: int, wish: TextsWish) -> TranslatedStatus | None:
        kept = self._kept.get(id)
        return None if kept is None else kept.get(wish)

    async def _load_languages(self) -> OfferedLanguages:
        return {} if self._translator is None else await self._ask(self._translator.languages)

    async def _ask(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send a request when there is a place. Raise TranslationFailed."""
        if self._places.statistics().tasks_waiting >= MOST_WAITING:
            raise AskedTooOften("too many requests wait")
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

    A status whose language is not known may be in each one that the service knows.
    """
    source = None if written is None else code_among(offered, written)
    if written is not None and source is None:
        raise NotTranslatable("the service does not know the language of the status")
    target = code_among(all_targets(offered) if source is None else offered[source], wanted)
    if target is None:
        raise NotTranslatable("the service does not translate into this language")
    return source, target


def all_targets(offered: OfferedLanguages) -> list[str]:
    """Return the languages into which the service translates from any."""
    return sorted({target for targets in offered.values() for target in targets})


def with_own_codes(offered: OfferedLanguages) -> OfferedLanguages:
    """Return the languages also under the codes that statuses of this server have, which clients look up."""
    named = {code: _with_own_codes(targets) for code, targets in offered.items()}
    return named | {own: named[code] for own in WITH_FORMS if own not in named and (code := code_among(offered, own))}


def _with_own_codes(codes: Iterable[str]) -> list[str]:
    return sorted({*codes, *(own for own in WITH_FORMS if code_among(codes, own) is not None)})


def code_among(codes: Iterable[str], language: str) -> str | None:
    """Return a service's code of a language: with its regional form if there is one, else without, or with another."""
    known = {code.lower(): code for code in sorted(codes, reverse=True)}
    language = language.strip().replace("_", "-").lower()
    base = language.partition("-")[0]
    for candidate in (language, *WRITTEN.get(language, ()), base):
        if candidate in known:
            return known[candidate]
    return next((known[code] for code in reversed(known) if code.partition("-")[0] == base), None)
