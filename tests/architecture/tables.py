"""The tables of READMEs and handbook, made from the code. `make accept` writes them."""

import re
from datetime import timedelta
from pathlib import Path

from troupe.actors.configuration import Settings
from troupe.actors.housekeeping.expiry import EXPIRING
from troupe.actors.media.cleaning import KEPT
from troupe.supervision.commands import EXIT_CODES
from troupe.supervision.log.vocabulary import FACTS, LogEvent
from troupe.supervision.settings.sources import PREFIX, default

ROOT = Path(__file__).parents[2]
HANDBOOK = "supervision/operations/handbook"


def settings_table() -> str:
    """The settings."""
    head = "| setting | environment | default | meaning |\n|---|---|---|---|"
    return "\n".join([head, *(_setting(name, field.description) for name, field in Settings.model_fields.items())])


def vocabulary_table() -> str:
    """The events of the supervision log."""
    rows = (f"| `{event.word}` | {event.level.name.lower()} | {event.meaning} |" for event in LogEvent)
    return "\n".join(["| event | level | meaning |\n|---|---|---|", *rows])


def facts_table() -> str:
    """The facts of those events."""
    rows = (f"| `{name}` | {meaning} |" for name, meaning in FACTS.items())
    return "\n".join(["| fact | meaning |\n|---|---|", *rows])


def ages_table() -> str:
    """The ages at which rows and files are deleted."""
    expired = [(kind.rows, kind.kept, kind.why) for kind in EXPIRING]
    unused = [(kind, (kept,), "No post has them, or nobody looks at them.") for kind, kept in KEPT.items()]
    rows = (f"| {kind} | {_ages(kept)} | {why} |" for kind, kept, why in (*expired, *unused))
    return "\n".join(["| deleted | after | why |\n|---|---|---|", *rows])


def exit_codes_table() -> str:
    """The exit codes of commands."""
    rows = (f"| {code} | {meaning} |" for code, meaning in re.findall(r"^  (\d+) +(.+)$", EXIT_CODES, re.MULTILINE))
    return "\n".join(["| exit code | meaning |\n|---|---|", *rows])


# With the file that has each.
TABLES = {
    settings_table: f"{HANDBOOK}/settings.md",
    vocabulary_table: f"{HANDBOOK}/log.md",
    facts_table: f"{HANDBOOK}/log.md",
    exit_codes_table: f"{HANDBOOK}/commands.md",
    ages_table: f"{HANDBOOK}/database.md",
}


def _ages(kept: tuple[timedelta, ...]) -> str:
    days = [age // timedelta(days=1) for age in kept if age]
    return " or ".join("a day" if number == 1 else f"{number} days" for number in days) or "its end"


def _setting(name: str, description: str | None) -> str:
    shown = default(name)
    return f"| `{name}` | `{PREFIX}{name.upper()}` | {f'`{shown}`' if shown else ''} | {description} |"


def with_table(text: str, table: str) -> str:
    """Return a text in which the table with this head has been replaced."""
    old = re.compile(re.escape(table.partition("\n")[0]) + r"\n(?:\|.*\n)+")
    return old.sub(lambda _: table + "\n", text)
