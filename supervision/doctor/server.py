"""The server: whether one runs on the data folder, and answers."""

from __future__ import annotations

from collections.abc import Iterator

from .findings import Examination, Finding

SUBJECT = "server"


def check_server(examination: Examination) -> Iterator[Finding]:
    """Say if a server runs; one that runs and does not answer is wrong."""
    node = examination.sources.settings.node
    if examination.server is not None:
        yield Finding(SUBJECT, "good", f"it runs as node {node}, and answers")
    elif examination.no_server:
        yield Finding(
            SUBJECT, "wrong", examination.no_server,
            "`troupe top --sort turn` shows what keeps it busy; restart it if it is of an earlier version.",
        )  # fmt: skip
    else:
        yield Finding(SUBJECT, "note", f"none runs as node {node} on {examination.sources.settings.data}")
