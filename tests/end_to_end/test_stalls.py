"""A running server in which a function keeps the event loop: the log, the metrics and `troupe doctor` name it."""

from __future__ import annotations

import json
import sys
from typing import Any

from .. import plain_http
from .patience import eventually
from .scraping import scrape, with_metrics
from .server import Server

PAUSED = "the machine was busy or the process was stopped"
# Bugs that an operator may meet: to answer a request, the server waits without giving the loop back; and a request
# during whose answer another program stops the whole process.
KEPT = """
import os, signal, subprocess, time
from troupe.http.api import health
from troupe.supervision.commands import main

live = health._liveness

def waits_for_a_disk():
    time.sleep(0.5)

def is_stopped():
    subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)

def planted(context, request):
    kept = request.header(b"x-kept-by")
    if kept is not None:
        globals()[kept]()
    return live(context, request)

health._liveness = planted
main()
"""


def ask(server: Server, kept_by: str | None = None) -> None:
    headers = {"Accept": "application/json"} | ({} if kept_by is None else {"X-Kept-By": kept_by})
    assert plain_http.get(f"{server.url}/health", headers=headers, timeout=30).json() == {"status": "UP"}


def findings(server: Server) -> list[str]:
    found = json.loads(server.troupe("doctor", "--json").stdout)
    return [finding["text"] for finding in found if finding["subject"] == "loop"]


def blamed(server: Server, name: str) -> list[dict[str, Any]]:
    """The records that have a function in their stack. A busy machine may make others."""
    return [record for record in server.events("loop.stalled") if f"in {name}" in str(record.get("stack"))]


def test_a_function_that_keeps_the_loop_is_named_and_a_stopped_process_is_no_functions_fault(
    own_server: Server,
) -> None:
    own_server.settings["TROUPE_LOOP_STALL_WARNING"] = "0.3"
    address = with_metrics(own_server)
    own_server.start("env", argument=lambda words: [sys.executable, "-c", KEPT, *words[words.index("serve") :]])
    ask(own_server)

    def stopped_and_counted() -> float:
        """On a busy machine the loop may end its round before the thread that looks has a CPU again."""
        ask(own_server, "is_stopped")
        return scrape(address).of("troupe_loop_stalls_total", cause="pause")

    eventually(stopped_and_counted)
    assert blamed(own_server, "is_stopped") == []
    assert PAUSED in [record.get("error") for record in eventually(lambda: own_server.events("loop.stalled"))]
    assert not any("is_stopped" in text or "waits_for_a_disk" in text for text in findings(own_server))

    ask(own_server, "waits_for_a_disk")
    (record,) = eventually(lambda: blamed(own_server, "waits_for_a_disk"))
    assert record["function"] == "waits_for_a_disk (<string>:8)"
    assert 0.5 <= record["seconds"] < 5
    assert "in planted" in record["stack"]
    assert record["commands"] == [f"troupe request {record['request_id']}"]
    metrics = scrape(address)
    assert metrics.of("troupe_loop_stalls_total", cause="function") >= 1
    assert metrics.of("troupe_loop_longest_stall_seconds") >= 0.5
    assert any("waits_for_a_disk (<string>:8) kept all clients waiting once" in text for text in findings(own_server))
