"""The backend LibreTranslate, or another service with its API: https://docs.libretranslate.com."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import orjson
import trio

from ..configuration import ContentSettings
from ..outgoing.client import OutgoingClient, OutgoingRequest, RequestLimits
from ..outgoing.messages import OutgoingFailure
from ..outgoing.targets import named_target
from .port import OfferedLanguages, QuotaUsedUp, TextsNotTaken, TooManyRequests, TranslatedTexts, TranslationFailed

TRANSLATING = RequestLimits(seconds=10, body=512 * 1024)
LISTING = RequestLimits(seconds=5, body=256 * 1024)

CODE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}")
MOST_LANGUAGES = 300
DETECT = "auto"

T = TypeVar("T")


class _Language(msgspec.Struct):
    code: str
    targets: list[str] | None = None  # None, from old versions: every other language


class _Detected(msgspec.Struct):
    language: str


class _Translated(msgspec.Struct):
    texts: list[str] = msgspec.field(name="translatedText")
    detected: list[_Detected] | None = msgspec.field(default=None, name="detectedLanguage")  # for each text


class LibreTranslate:
    """The service at an address. It gets its key in the body, because logs may contain addresses."""

    provider = "LibreTranslate"

    def __init__(self, client: OutgoingClient, url: str, key: str | None) -> None:
        self._client = client
        self._url = url.rstrip("/")
        self._key = key

    async def languages(self) -> OfferedLanguages:
        found = _read(await self._send(OutgoingRequest("GET", f"{self._url}/languages"), LISTING), list[_Language])
        codes = [language.code for language in found]
        return {
            language.code: [
                target
                for target in _codes(codes if language.targets is None else language.targets)
                if target != language.code
            ]
            for language in found[:MOST_LANGUAGES]
            if CODE.fullmatch(language.code)
        }

    async def translate(self, texts: Sequence[str], source: str | None, target: str) -> TranslatedTexts:
        asked = {"q": texts, "source": source or DETECT, "target": target, "format": "html"}
        body = orjson.dumps(asked if self._key is None else asked | {"api_key": self._key})
        request = OutgoingRequest("POST", f"{self._url}/translate", {"Content-Type": "application/json"}, body)
        answer = _read(await self._send(request, TRANSLATING), _Translated)
        if len(answer.texts) != len(texts):
            raise TranslationFailed("the service answered with another number of texts")
        detected = source or next((detection.language for detection in answer.detected or ()), "")
        if not CODE.fullmatch(detected):
            raise TranslationFailed("the service did not detect the language")
        return TranslatedTexts(answer.texts, detected)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._client.run(stopping, task_status=task_status)

    async def _send(self, request: OutgoingRequest, limits: RequestLimits) -> bytes:
        try:
            answer = await self._client.send(request, limits)
        except OutgoingFailure as error:
            raise TranslationFailed(str(error)) from error
        match answer.status:
            case 200:
                return answer.body
            case 400 | 413:
                raise TextsNotTaken(f"the service answered {answer.status}")
            case 403:
                raise QuotaUsedUp("the service answered 403: the key is wrong or missing, or its quota is used up")
            case 429:
                raise TooManyRequests("the service answered 429: too many requests")
            case _:
                raise TranslationFailed(f"the service answered {answer.status}")


def _codes(given: Sequence[str]) -> list[str]:
    return [code for code in given if CODE.fullmatch(code)][:MOST_LANGUAGES]


def _read(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, ValueError):
        # Without its cause, which may quote the answer.
        raise TranslationFailed("the service's answer can't be read") from None


def translator_of(settings: ContentSettings) -> LibreTranslate | None:
    """Return the translation service of the settings. Its client connects to nothing else."""
    if settings.translation_url is None:
        return None
    client = OutgoingClient(settings.user_agent, named=named_target(settings.translation_url))
    key = settings.translation_key.get_secret_value() if settings.translation_key else None
    return LibreTranslate(client, settings.translation_url, key)
