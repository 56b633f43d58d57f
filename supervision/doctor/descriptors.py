"""File descriptors: how many connections the limit of the process allows."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from ...http.server.limits import WANTED
from .findings import Examination, Finding

SUBJECT = "descriptors"
FEW = 4096  # about three thousand clients
CURE = "Raise the hard limit: LimitNOFILE=65536 in the unit of systemd, or `ulimit -Hn 65536` before the start."


def check_descriptors(examination: Examination) -> Iterator[Finding]:
    """Check the limit of the running server, or else the limit of a server that would be started from here."""
    server = examination.server
    if server is None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        yield evaluate(WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED), None)
        return
    yield evaluate(int(server["descriptor_limit"]), int(server["descriptors"]))


def evaluate(limit: int, used: int | None) -> Finding:
    """Return the finding about a limit, of which the server uses so many; None without a server."""
    text = f"{limit} for a server that is started from here" if used is None else f"{used} of {limit} in use"
    if limit < FEW:
        return Finding(SUBJECT, "wrong", f"{text}: too few for many clients", CURE)
    if used is not None and used > limit * 0.8:
        return Finding(SUBJECT, "wrong", f"{text}: further clients will soon get 503", CURE)
    return Finding(SUBJECT, "good", text)
