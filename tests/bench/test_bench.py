"""The bench itself: a quick look runs to its end, and wrong answers are not measured."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..data_folders import copy_data
from . import goals, listening
from .answers import WrongAnswer, entity, instance, page_of_notifications, page_of_statuses
from .listening import Audience
from .samples import Row, Sample

ROOT = Path(__file__).parents[2]
PATIENCE = 280  # seconds; alone on a machine it takes less than a minute
QUICK = ("--scale", "0.05", "--seconds", "0.3", "--runs", "2")
MESSAGE = bytes((listening.TEXT, 2)) + b"{}"


def status(id: int) -> dict[str, object]:
    return {"id": str(id), "content": "<p>text</p>", "account": {"id": "1"}}


def page(*items: dict[str, object]) -> bytes:
    return json.dumps(items).encode()


@pytest.mark.timeout(PATIENCE + 20)
def test_a_quick_look_measures_every_row_and_loses_nothing(prepared: Path, data: Path) -> None:
    copy_data(prepared, data)
    command = (sys.executable, "-m", "tests.bench", *QUICK, "--data", str(data))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line[:1] == "|"]
    operations = [row for row in rows if len(row) == 12][2:]
    assert sorted(row[5] for row in operations if row[5]) == sorted(goals.GOALS.values())
    assert {row[1] for row in operations} == {"warm", "cold", ""}
    assert all(float(row[4].replace(",", "")) > 0 for row in operations)
    problems = re.findall(r"(\d+) (?:missed|lost)", done.stdout)
    assert problems == ["0"] * 7
    assert ["ms together, by the number of statuses", "100", "1,000", "10,000"] in rows
    assert ["a post, by the number of awake homes", "5", "50", "250"] in rows
    assert {goals.LISTENING, goals.IDLE, goals.HOME, goals.STREAM} <= {row[2] for row in rows if len(row) == 5}


@contextmanager
def listeners(count: int) -> Generator[tuple[Audience, list[socket.socket]]]:
    """Listeners, and the ends of their sockets at a server."""
    ends: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        for _ in range(count):
            end = server.accept()[0]
            end.recv(4096)
            end.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            ends.append(end)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        audience = Audience(server.getsockname()[1], ["token"] * count)
        thread.join(10)
    yield audience, ends
    audience.close()
    for end in ends:
        end.close()


def test_a_message_that_comes_late_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "QUIET", 0.01)
    with listeners(2) as (audience, (first, second)):
        first.sendall(MESSAGE)
        assert len(audience.hear()) == 1
        first.sendall(MESSAGE)
        second.sendall(MESSAGE)  # the one of before
        assert len(audience.hear()) == 2
        second.sendall(MESSAGE)
        assert audience.lost() == 0


@pytest.mark.parametrize("sent", [0, 2])
def test_a_message_that_is_missing_or_there_twice_is_counted(sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "QUIET", 0.01)
    monkeypatch.setattr(listening, "PATIENCE", 0.01)
    with listeners(2) as (audience, (first, second)):
        first.sendall(MESSAGE)
        second.sendall(MESSAGE * sent)
        audience.hear()
        assert audience.lost() == 1


@pytest.mark.parametrize(
    "items",
    [[], [status(1), status(2)], [status(1)] * 20, [status(n) | {"content": ""} for n in range(20)]],
    ids=["empty", "a tag with two statuses", "one status twenty times", "without texts"],
)
def test_a_page_without_its_items_is_refused(items: list[dict[str, object]]) -> None:
    with pytest.raises(WrongAnswer):
        page_of_statuses(20)(page(*items))


def test_a_page_with_its_items_is_measured() -> None:
    page_of_statuses(20)(page(*map(status, range(20))))
    page_of_notifications(1)(page({"id": "1", "type": "favourite", "account": {"id": "1"}, "status": status(2)}))
    entity(id="1")(b'{"id": "1"}')


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"id": "2"}', b"<html>"])
def test_another_entity_is_refused(body: bytes) -> None:
    with pytest.raises(WrongAnswer):
        entity(id="1")(body)
    with pytest.raises(WrongAnswer):
        instance(body)


def test_a_row_shows_its_median_its_spread_and_what_disturbed_it() -> None:
    samples = [Sample(server, 1.0, 1.0, 0.0, 0.0, others) for server, others in ((3.0, 0.0), (1.0, 0.2), (2.0, 0.0))]
    row = Row("a row", samples)
    assert row.median.server == 2.0
    assert row.spread == (2.0, 4.0)
    assert row.disturbed
    assert not Row("a row", samples[:1]).disturbed
