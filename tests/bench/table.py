"""The figures as the README's tables."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import goals, machine
from .fill import Size
from .measures import CROWDS, GROWING
from .samples import MOST_FOR_OTHERS, Row, Value, is_disturbed
from .serving import Starts
from .weights import Grown

MARKED = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)
DISTURBED = "⚠"
COLD = "cold "  # the start of a cold row's key; the rest is the key of the warm one
NOTHING = "none"


@dataclass(frozen=True, slots=True)
class Results:
    """All that was measured."""

    size: Size
    rows: dict[str, Row]
    growth: dict[int, dict[str, Row]]  # the rows of the database with this many statuses
    starts: Starts
    grown: Grown
    loaded: float  # MiB of the server at the end
    seconds: float  # that it all took


def render(results: Results) -> str:
    """Markdown, with the machine that the figures are of."""
    size = results.size
    return "\n".join([
        f"{machine.describe()}; Python {platform.python_version()}; {size.accounts:,} accounts, "
        f"{size.statuses:,} statuses; measured in {results.seconds:.0f} s.",
        "",
        *_operations(results.rows),
        "",
        *_statuses(results),
        "",
        *_followers(results),
        "",
        *_values(results),
        "",
    ])  # fmt: skip


def write(readme: Path, text: str) -> None:
    """Put it between the marks."""
    before = readme.read_text("utf-8")
    after, count = MARKED.subn(lambda marks: f"{marks[1]}{text}{marks[2]}", before)
    assert count == 1, f"{readme} must have one place for the table"
    readme.write_text(after, "utf-8")


def _operations(rows: dict[str, Row]) -> list[str]:
    runs = max((len(row.samples) for row in rows.values()), default=0)
    return [
        f"CPU in ms an operation: the median of {runs} runs, and the least and the most of server and PostgreSQL"
        f" together. Others: the share of all cores that other programs took; rows with more than {MOST_FOR_OTHERS:.0%}"
        f" have a {DISTURBED}.",
        "",
        "| operation | | server | PostgreSQL | together | goal | least to most | a second | p50 | p99 | others | |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
        *(_operation(rows[key], goals.GOALS.get(key, "")) for key in _shown(rows)),
    ]


def _shown(rows: dict[str, Row]) -> list[str]:
    """The keys in the order of the table: cold rows are measured first, and stand below the warm ones."""
    warm = {key: number for number, key in enumerate(rows)}
    return sorted(rows, key=lambda key: (warm.get(key.removeprefix(COLD), warm[key]), key.startswith(COLD)))


def _operation(row: Row, goal: str) -> str:
    median = row.median
    return _line(
        row.name, row.state, _number(median.server), _number(median.postgres), _number(median.together), goal,
        _spread(row), f"{median.rate:,.0f}", f"{median.p50:.1f} ms", f"{median.p99:.1f} ms",
        _others(row.others), ", ".join(row.remarks),
    )  # fmt: skip


def _statuses(results: Results) -> list[str]:
    """How the cost of rows that depend on the number of statuses grows with it."""
    return [
        _line("ms together, by the number of statuses", *(f"{count:,}" for count in results.growth)),
        _rule(len(results.growth)),
        *(_grown(key, [*results.growth.values()]) for key in GROWING),
    ]


def _grown(key: str, databases: Sequence[dict[str, Row]]) -> str:
    found = [rows[key] for rows in databases if key in rows]
    cells = (_figure(rows[key]) if key in rows else NOTHING for rows in databases)
    return _line(" ".join((found[0].name, found[0].state)).strip() if found else key, *cells)


def _followers(results: Results) -> list[str]:
    """How the cost of a post grows with the followers."""
    crowds = zip(CROWDS, results.size.crowds, strict=True)
    found = [(count, results.rows[key]) for key, count in crowds if key in results.rows]
    return [
        _line("a post, by the number of awake homes", *(f"{count:,}" for count, _ in found)),
        _rule(len(found)),
        _line("ms together", *(_figure(row) for _, row in found)),
        _line("µs a home", *(f"{row.median.together / count * 1000:.1f}" for count, row in found)),
    ]


def _values(results: Results) -> list[str]:
    starts, grown = results.starts, results.grown
    values = (
        Value("listening after, with PostgreSQL running", starts.listening, "s", goals.LISTENING, max(starts.others)),
        Value("idle, server (PSS)", starts.server, "MiB", goals.IDLE),
        Value("idle, PostgreSQL (PSS of all its processes)", starts.postgres, "MiB"),
        Value("after all this, server (RSS)", [results.loaded], "MiB"),
        Value("an awake home", [grown.home], "KiB", goals.HOME),
        Value("a WebSocket", [grown.websocket], "KiB", goals.STREAM),
        Value("a stream of server-sent events", [grown.events], "KiB", goals.STREAM),
    )
    return [_line("", "figure", "goal", "least to most", "others"), _rule(4), *map(_value, values)]


def _value(value: Value) -> str:
    digits = 1 if value.unit == "s" else 0
    spread = f"{min(value.values):.{digits}f} to {max(value.values):.{digits}f}" if len(value.values) > 1 else "one run"
    return _line(value.name, f"{value.median:.{digits}f} {value.unit}", value.goal, spread, _others(value.others))


def _others(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}{f' {DISTURBED}' * is_disturbed(share)}"


def _figure(row: Row) -> str:
    return f"{_number(row.median.together)} ({_spread(row)}){f' {DISTURBED}' * row.disturbed}"


def _spread(row: Row) -> str:
    return " to ".join(map(_number, row.spread))


def _number(milliseconds: float) -> str:
    digits = next((digits for digits, least in ((0, 100), (1, 10), (2, 1)) if milliseconds >= least), 3)
    return f"{milliseconds:.{digits}f}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(columns: int) -> str:
    return _line("---", *["--:"] * columns)
