"""What servers answer, as the clients of tests read it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import h11
from werkzeug.datastructures import Headers


class Reply:
    """A response, read to its end."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @cached_property
    def text(self) -> str:
        return self.body.decode()


def parsed(method: str, answer: bytes) -> Reply:
    """An answer as a client reads it."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method=method, target="/", headers=[("host", "localhost")]))
    client.send(h11.EndOfMessage())
    client.receive_data(answer)
    head, body = client.next_event(), b""
    assert isinstance(head, h11.Response)
    while isinstance(event := client.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert client.next_event() is h11.PAUSED or not client.trailing_data[0]
    return Reply(head.status_code, Headers((name.decode(), value.decode()) for name, value in head.headers), body)
