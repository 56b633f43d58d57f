"""What is sent to smuggle requests, over sockets: the fast path changes no answer, and not where a request begins."""

from __future__ import annotations

import re

import pytest
import trio

from troupe.http.server import deadlines

from ..clients import Stage
from .serving import request, say, serving
from .smuggling import CORPUS, NEXT

pytestmark = pytest.mark.usefixtures("both_ways")

LAST = request(b"GET /health")
# What differs from answer to answer, and the text beside a status, which no client reads.
VARYING = re.compile(rb"(?<=HTTP/1\.1 \d{3})[^\r]*|(?:date|x-request-id): [^\r]*\r\n")
# After such a request nothing may follow: hypercorn refuses both, or only has the first one, as chance will have it.
CLOSES = re.compile(rb"Connection: [^\r]*close|HTTP/1\.0")


async def test_what_is_sent_to_smuggle_requests_gets_the_same_answers_both_ways(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "KEEP_ALIVE", 1.0)
    answers: dict[bool, dict[str, bytes]] = {True: {}, False: {}}

    async def ask(port: int, name: str, into: dict[str, bytes]) -> None:
        text = CORPUS[name] if CLOSES.search(CORPUS[name]) else CORPUS[name] + NEXT + LAST
        into[name] = VARYING.sub(b"", await say(port, text))

    for stage.fast_path, into in answers.items():
        async with serving(stage) as server, trio.open_nursery() as nursery:
            for name in CORPUS:
                nursery.start_soon(ask, server.port, name, into)
    for name in CORPUS:
        assert answers[True][name] == answers[False][name], name
    assert answers[True]["plain"].count(b"HTTP/1.1 ") == 3
