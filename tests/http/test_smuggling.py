"""What is sent to smuggle requests, and whatever else is odd, over sockets.

The answers depend on the bytes alone: not on the packets in which they come, on the fast path, or on chance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest
import trio

from troupe.http.server import limits

from ..clients import Stage
from .raw_requests import RAW_REQUESTS, Raw
from .serving import request, serving
from .smuggling import CORPUS, NEXT

LAST = request(b"GET /health")
# The ways in which each text is sent. Races show in one of a few tries.
TRIES = ["whole"] * 4 + ["in pieces"] * 5 + ["byte by byte"]
AT_ONCE = 8  # conversations, far fewer than there are connections for an address
# A long text is sent byte by byte only up to here: what is special about it has come.
BYTE_BY_BYTE = 1500
# Seconds: more than a conversation of single bytes takes on a busy machine, and less than a connection may be idle.
HANGS = 60.0
# What differs from answer to answer.
VARYING = re.compile(rb"(?:date|x-request-id): [^\r]*\r\n")
ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}).*?\r\n\r\n", re.DOTALL)
# Headers that the fast path writes in another case or order; their names and values say the same.
HEADER = re.compile(rb"^([\w-]+): ?(.*?)\r$", re.MULTILINE)


class Answers(NamedTuple):
    """The answers to one text, up to the end of the connection."""

    statuses: tuple[int, ...]
    headers: tuple[tuple[tuple[bytes, bytes], ...], ...]


@pytest.mark.timeout(300)
async def test_the_answer_to_any_bytes_depends_on_nothing_else(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CLOSE", 3.0)  # A busy machine may take long for the rest of a text.
    stage.both_ways = True  # both are served here, one after the other
    heard: dict[str, set[Answers]] = defaultdict(set)
    texts = RAW_REQUESTS | {f"corpus: {name}": Raw(text, ()) for name, text in CORPUS.items()}
    for stage.fast_path in (True, False):
        async with serving(stage) as server, trio.open_nursery() as nursery:
            limit = trio.CapacityLimiter(AT_ONCE)
            for name, raw in texts.items():
                text = raw.text if raw.half_closed else raw.text + NEXT + LAST
                for number, how in enumerate(TRIES):
                    pieces = cut(text, how, Random(f"{name}{number}"))
                    nursery.start_soon(converse, server.port, pieces, raw.half_closed, limit, heard[name])
    assert {name: answers for name, answers in heard.items() if len(answers) > 1} == {}
    said = {name: answers.pop().statuses for name, answers in heard.items()}
    wanted = {name: raw.statuses + (404, 200) * raw.stays_open for name, raw in RAW_REQUESTS.items()}
    assert {name: said[name] for name in RAW_REQUESTS} == wanted
    assert said["corpus: plain"] == (200, 404, 200)
    assert stage.failures == []


async def converse(
    port: int, pieces: list[bytes], half_closes: bool, limit: trio.CapacityLimiter, heard: set[Answers]
) -> None:
    """Send a text, and note what comes until the server closes the connection, in order and not with a reset."""
    async with limit, await trio.open_tcp_stream("127.0.0.1", port) as stream, trio.open_nursery() as nursery:
        nursery.start_soon(send, stream, pieces, half_closes)
        with trio.fail_after(HANGS):
            text = b"".join([bytes(chunk) async for chunk in stream])
        nursery.cancel_scope.cancel()
    heads = [(int(found[1]), VARYING.sub(b"", found[0])) for found in ANSWER.finditer(text)]
    headers = [tuple(sorted((name.lower(), value) for name, value in HEADER.findall(head))) for _, head in heads]
    heard.add(Answers(tuple(status for status, _ in heads), tuple(headers)))


async def send(stream: trio.SocketStream, pieces: list[bytes], half_closes: bool) -> None:
    """Send one piece after the other, so that the server reads most of them one by one."""
    try:
        for piece in pieces:
            await stream.send_all(piece)
            for _ in range(3):
                await trio.lowlevel.checkpoint()
        if half_closes:
            await stream.send_eof()
    except trio.BrokenResourceError:
        return  # The server has refused it already.


def cut(text: bytes, how: str, random: Random) -> list[bytes]:
    """Return the pieces of a text, of which none is empty."""
    places: list[int] = []
    if how == "in pieces":
        places = [random.randrange(len(text) + 1) for _ in range(random.randrange(1, 7))]
    elif how == "byte by byte":
        places = list(range(min(len(text), BYTE_BY_BYTE)))
    ends = sorted({0, *places, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]
