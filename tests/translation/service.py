"""A translation service on loopback, with LibreTranslate's API. It writes the language before each text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import trio

from ..outgoing.peer import Asked, Peer, answer, peer

LANGUAGES: list[dict[str, Any]] = [
    {"code": "en", "name": "English", "targets": ["de", "en", "fr", "zh-Hant"]},
    {"code": "de", "name": "German", "targets": ["de", "en"]},
    {"code": "fr", "name": "French", "targets": ["en"]},
]


def prefixed(texts: list[str], target: str) -> list[str]:
    return [f"[{target}] {text}" for text in texts]


@dataclass
class TranslationService:
    """What it was asked to translate, and how it answers. With `fails` all answers are that one."""

    peer: Peer
    translated: Callable[[list[str], str], object] = prefixed
    fails: bytes = b""
    held: trio.Event | None = None
    detects: str = "fr"
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    listed: int = 0  # how often it was asked for its languages
    arrived: trio.Event = field(default_factory=trio.Event)

    async def respond(self, stream: trio.abc.Stream, asked: Asked) -> None:
        if asked.path == "/languages":
            self.listed += 1
            await stream.send_all(answer(200, orjson.dumps(LANGUAGES)))
            return
        assert (asked.method, asked.path) == ("POST", "/translate")
        body = orjson.loads(asked.body)
        self.asked.append(body)
        self.arrived.set()
        if self.held is not None:
            await self.held.wait()
        result = {"translatedText": self.translated(body["q"], body["target"])}
        if body["source"] == "auto":
            result["detectedLanguage"] = [{"confidence": 90.0, "language": self.detects}] * len(body["q"])
        await stream.send_all(self.fails or answer(200, orjson.dumps(result)))


@asynccontextmanager
async def translation_service() -> AsyncGenerator[TranslationService]:
    async def nothing(stream: trio.abc.Stream, asked: Asked) -> None: ...

    async with peer(nothing, None) as served:
        one = TranslationService(served)
        served.respond = one.respond
        yield one
