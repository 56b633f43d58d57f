"""The number of processes that serve, their names, and the settings with which they can't serve together."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Literal

from ...actors.configuration import Settings
from ...storage.engine.node import NODE_NAME
from ..failures import WrongProcesses

MOST = 62  # a cluster has 63 numbers for nodes, and a process that starts again may need another one for a moment

# The folder of control groups (cgroups(7), version 2), and the file with the group of this process.
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")

# Connections to the embedded PostgreSQL. It takes 100 by default, of which some are for commands and its superuser.
MOST_CONNECTIONS = 90
# Connections of a process beside those of `database_connections`: its lease, and a migration or a probe.
OTHER_CONNECTIONS = 2


def number_of_processes(chosen: int | Literal["auto"]) -> int:
    """Return the number of processes. `auto` leaves a core to PostgreSQL, if there is more than one."""
    return chosen if chosen != "auto" else max(1, min(MOST, usable_cores() - 1))


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and the quotas of its control groups."""
    return min([len(os.sched_getaffinity(0)), *_quotas()])


def _quotas() -> list[int]:
    """Return the cores that each control group around this process allows. A part of a core counts as a core."""
    try:
        found = re.search(r"^0::/(.*)$", OWN_GROUP.read_text(), re.MULTILINE)
    except OSError:
        return []
    own = GROUPS / (found[1] if found else "")
    quotas: list[int] = []
    for folder in (own, *own.parents):
        if folder == GROUPS.parent:
            break
        try:
            quota, period = (folder / "cpu.max").read_text().split()
        except (OSError, ValueError):
            continue
        if quota != "max":
            quotas.append(math.ceil(int(quota) / int(period)))
    return quotas


def names_of(node: str, count: int) -> list[str]:
    """Return the names of the nodes: `main-1`, `main-2` and so on. Raises WrongProcesses if they are too long."""
    names = [f"{node}-{number}" for number in range(1, count + 1)]
    if not NODE_NAME.match(names[-1]):
        most = 16 - len(names[-1]) + len(node)
        raise WrongProcesses(
            f"node = {node!r} is too long for {count} processes, which are called {names[0]} and so on: choose a name"
            f" of at most {most} characters"
        )
    return names


def require_sharing(settings: Settings, count: int) -> None:
    """Raise WrongProcesses for settings with which several processes can't serve together."""
    if settings.takeover:
        raise WrongProcesses(
            "takeover is for a server of one process: stop the server that runs, and start this one without --takeover"
        )
    metrics = settings.metrics
    if isinstance(metrics, tuple) and metrics[1] + count - 1 > 65535:
        raise WrongProcesses(
            f"metrics = {metrics[1]} is too high a port: {count} processes need this port and the next {count - 1}"
        )
    each = settings.database_connections + OTHER_CONNECTIONS
    if settings.database_url is None and count * each > MOST_CONNECTIONS:
        fitting = MOST_CONNECTIONS // count - OTHER_CONNECTIONS
        advice = f"set database_connections to at most {fitting}, or" if fitting > 0 else "start fewer processes, or"
        raise WrongProcesses(
            f"{count} processes with {settings.database_connections} connections each are too many for the embedded"
            f" PostgreSQL: {advice} use a PostgreSQL of your own with database_url"
        )


def metrics_of(settings: Settings, number: int, name: str) -> str | None:
    """Return the address of the metrics of a process, as text: for the first process that of the settings.

    The others have the next ports, or a path with the name of the node.
    """
    match settings.metrics:
        case (str(host), int(port)):
            return f"[{host}]:{port + number - 1}" if ":" in host else f"{host}:{port + number - 1}"
        case Path() as path:
            return str(path if number == 1 else path.with_stem(f"{path.stem}-{name}"))
        case _:
            return None
