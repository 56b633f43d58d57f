"""The figures as the README's table."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .fill import Size
from .measures import Row
from .weights import Grown

MARKED = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Weight:
    """What the process itself takes."""

    start: float  # seconds until it listens
    idle: float  # MiB
    loaded: float
    grown: Grown


def render(rows: Sequence[Row], weight: Weight, size: Size) -> str:
    """Markdown, with the machine that the figures are of."""
    lines = [
        f"{machine.describe()}; Python {platform.python_version()}; {size.accounts:,} accounts, "
        f"{size.statuses:,} statuses.",
        "",
        "| operation | CPU, server | CPU, PostgreSQL | a second | p50 | p99 | |",
        "|---|--:|--:|--:|--:|--:|---|",
        *map(_line, rows),
        "",
        f"Listening {weight.start:.1f} s after it was started; {weight.idle:.0f} MiB idle, {weight.loaded:.0f} MiB "
        f"after all this. An awake home holds {weight.grown.home:.0f} KiB (goal 16), a WebSocket "
        f"{weight.grown.websocket:.0f} KiB and a stream of server-sent events {weight.grown.events:.0f} KiB (goal 10).",
    ]
    return "\n".join(lines) + "\n"


def write(readme: Path, text: str) -> None:
    """Put it between the marks."""
    before = readme.read_text("utf-8")
    after, count = MARKED.subn(lambda marks: f"{marks[1]}{text}{marks[2]}", before)
    assert count == 1, f"{readme} must have one place for the table"
    readme.write_text(after, "utf-8")


def _line(row: Row) -> str:
    rate = "" if row.rate is None else f"{row.rate:,.0f}"
    waits = f"{row.p50:.1f} ms | {row.p99:.1f} ms"
    return f"| {row.name} | {row.server:.2f} ms | {row.postgres:.2f} ms | {rate} | {waits} | {row.remark} |"
