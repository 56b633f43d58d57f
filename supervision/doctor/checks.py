"""All checks, in the order of their findings."""

from __future__ import annotations

from collections.abc import Iterator

from ...actors.kernel.errors import describe
from .bucket import check_bucket
from .certificate import check_certificate
from .clock import check_clock
from .confinement import check_confinement
from .database import check_database
from .descriptors import check_descriptors
from .disk import check_disk
from .findings import Check, Examination, Finding
from .keys import check_keys
from .loop import check_loop
from .permissions import check_permissions
from .proxy import check_proxy
from .server import check_server
from .smtp import check_smtp
from .websocket import check_websocket

CHECKS: tuple[Check, ...] = (
    check_server,
    check_loop,
    check_database,
    check_disk,
    check_clock,
    check_descriptors,
    check_confinement,
    check_certificate,
    check_proxy,
    check_websocket,
    check_smtp,
    check_bucket,
    check_keys,
    check_permissions,
)


def examine(examination: Examination) -> Iterator[Finding]:
    """Yield the findings of all checks. A check that fails is a finding, and does not end the others."""
    for check in CHECKS:
        try:
            yield from check(examination)
        except Exception as error:
            subject = check.__module__.rpartition(".")[2]
            yield Finding(subject, "wrong", f"the check itself failed: {describe(error)}", "Please report this.")
