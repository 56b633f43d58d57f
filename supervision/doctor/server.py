"""The server: whether it runs on the data folder, answers, and can use its database."""

from __future__ import annotations

from collections.abc import Iterator

from ... import __version__
from .findings import Examination, Finding

SUBJECT = "server"


def check_server(examination: Examination) -> Iterator[Finding]:
    """Report if a server runs. A running server that does not answer is a fault."""
    node = examination.sources.settings.node
    if examination.server is not None:
        yield Finding(SUBJECT, "good", f"it runs as node {node}, and answers")
        if (version := examination.server.get("version", __version__)) != __version__:
            yield Finding(
                SUBJECT, "wrong", f"it is of version {version}, and this command of version {__version__}",
                "Restart the server, if a new version was installed; else run the `troupe` of its installation.",
            )  # fmt: skip
        if refusing := examination.server.get("refusing"):  # a server of an earlier version does not say
            yield Finding(
                SUBJECT, "wrong", f"it refuses calls of the database: {refusing}",
                "storage.refused in its log has the whole cause, and who holds a lock.",
            )  # fmt: skip
    elif examination.no_server:
        yield Finding(
            SUBJECT, "wrong", examination.no_server,
            "`troupe top --sort turn` shows what keeps it busy; restart it if it is of an earlier version.",
        )  # fmt: skip
    else:
        yield Finding(SUBJECT, "note", f"none runs as node {node} on {examination.sources.settings.data}")
