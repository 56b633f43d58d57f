"""The README's tables, made from the code. `python -m tests.architecture.tables` puts them into README.md."""

import re
from pathlib import Path

from troupe.supervision.configuration import Settings
from troupe.supervision.sources import PREFIX, default
from troupe.supervision.vocabulary import FACTS, LogEvent

README = Path(__file__).parents[2] / "README.md"


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


TABLES = (settings_table, vocabulary_table, facts_table)


def _setting(name: str, description: str | None) -> str:
    shown = default(name)
    return f"| `{name}` | `{PREFIX}{name.upper()}` | {f'`{shown}`' if shown else ''} | {description} |"


def main() -> None:
    text = README.read_text("utf-8")
    for table in TABLES:
        rows = table()
        old = re.compile(re.escape(rows.partition("\n")[0]) + r"\n(?:\|.*\n)+")
        text = old.sub(lambda _, rows=rows: rows + "\n", text)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
