"""The log for people: a record a line, aligned, the important facts first.

Time, mark and event; then the actor or the part, the error, and the decision of supervision; then the other facts. On a
terminal the parts have colours, long records go on below the event, and the commands that show more stand on a line of
their own. Elsewhere a record is a single line, which `grep` finds whole; a stack follows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import groupby

from ...actors.rules.wording import plain
from ...storage.engine.json_values import list_or_empty
from .vocabulary import Level, LogEvent

Facts = Mapping[str, object]

# Characters that move the cursor, change a terminal's state, end a line or reorder text (Unicode's bidirectional
# controls).
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

MARKS = {Level.INFO: "·", Level.WARNING: "!", Level.ERROR: "✗"}
EVENT_WIDTH = 18  # of most events; the few longer ones push their line to the right
INDENT = 11  # where the event stands
NARROWEST = 40

# The facts that name the subject of a record; the first that it has stands behind the event.
SUBJECTS = ("actor", "child", "host", "address", "logger", "effect")
# Facts that are not among the other facts of the line.
PLACED = ("error", "decision", "stack", "commands")


class Style(Enum):
    """The look of a part on a terminal, as the numbers of its escape sequence (ECMA-48, SGR)."""

    PLAIN = ""
    DIM = "2"
    STRONG = "1"
    SUBJECT = "36"
    WARNING = "1;33"
    ERROR = "1;31"


LEVELS = {Level.INFO: Style.STRONG, Level.WARNING: Style.WARNING, Level.ERROR: Style.ERROR}


@dataclass(frozen=True, slots=True)
class Part:
    """A text with its look. Parts are separated by a space; a line breaks between the words of a part."""

    text: str
    style: Style = Style.PLAIN

    def words(self) -> Iterator[Part]:
        return (Part(word, self.style) for word in self.text.split(" "))


def as_text(now: datetime, event: LogEvent, facts: Facts) -> str:
    """Return a record for people, where there is no terminal: a line, then the stack, if any."""
    head = f"{now:%H:%M:%S} {MARKS[event.level]} {event.word:<{EVENT_WIDTH}}"
    line = " ".join([head, *(part.text for part in (*_important(facts), *_others(facts), *_commands(facts)))])
    return "\n".join([line.rstrip(), *_stack(facts)])


def message_of(event: LogEvent, facts: Facts) -> str:
    """Return a record without its time and its stack, which others show beside it."""
    return " ".join([event.word, *(part.text for part in (*_important(facts), *_others(facts)))])


class Terminal:
    """The form for a terminal. `width` returns its columns, which change while the server runs."""

    def __init__(self, width: Callable[[], int], *, colour: bool) -> None:
        self._width = width
        self._colour = colour

    def __call__(self, now: datetime, event: LogEvent, facts: Facts) -> str:
        """Return the lines of a record."""
        width = max(self._width(), NARROWEST)
        look = LEVELS[event.level]
        head = [Part(f"{now:%H:%M:%S}", Style.DIM), Part(MARKS[event.level], look), Part(event.word, look)]
        body = [*_important(facts), *_others(facts)]
        lines = [self._filled(head, body, width)]
        lines += [f"{' ' * INDENT}{self._shown(Part(line, Style.DIM))}" for line in _stack(facts)]
        # A command is not broken, so that it can be copied.
        lines += [
            f"{' ' * INDENT}{self._shown(Part(f'$ {command}', Style.SUBJECT))}"
            for command in _listed(facts, "commands")
        ]
        return "\n".join(lines)

    def _filled(self, head: list[Part], body: list[Part], width: int) -> str:
        """Return head and body in lines of at most `width` columns, except for words that are longer."""
        lines: list[list[Part]] = []
        line = [*head]
        if body and (room := EVENT_WIDTH - len(head[-1].text)) > 0:
            line.append(Part(" " * (room - 1)))
        used = len(" ".join(part.text for part in line))
        for word in (word for part in body for word in part.words()):
            if used + 1 + len(word.text) > width and used > INDENT:
                lines.append(line)
                line, used = [Part(" " * (INDENT - 1))], INDENT - 1
            line.append(word)
            used += 1 + len(word.text)
        return "\n".join(" ".join(map(self._shown, _joined(parts))).rstrip() for parts in [*lines, line])

    def _shown(self, part: Part) -> str:
        coloured = self._colour and part.style is not Style.PLAIN
        return f"\x1b[{part.style.value}m{part.text}\x1b[0m" if coloured else part.text


def _joined(words: list[Part]) -> list[Part]:
    """Return the words, joined to parts of one look, so that each look begins and ends once."""
    groups = groupby(words, key=lambda word: word.style)
    return [Part(" ".join(word.text for word in same), style) for style, same in groups]


def shows_colours(environ: Mapping[str, str]) -> bool:
    """True if a terminal shows colours. NO_COLOR turns them off, see https://no-color.org."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def columns_of(descriptor: int) -> Callable[[], int]:
    """Return a function that returns how wide a terminal is now."""

    def columns() -> int:
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except OSError:  # its window was closed
            return 80

    return columns


def escaped(text: str) -> str:
    """Return the text with control characters as `\\u009b`, so that records can't forge lines or control terminals."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _important(facts: Facts) -> Iterator[Part]:
    if (subject := _subject(facts)) is not None:
        yield Part(escaped(str(facts[subject])), Style.SUBJECT)
        if "error" in facts or "decision" in facts:
            yield Part("")  # a space more, to set it apart
    if "error" in facts:
        yield Part(escaped(str(facts["error"])), Style.STRONG)
    if "decision" in facts:
        yield Part(f"→ {escaped(str(facts['decision']))}")


def _others(facts: Facts) -> Iterator[Part]:
    apart = {*PLACED, _subject(facts)}
    return (Part(f"{name}={_value(name, value)}", Style.DIM) for name, value in facts.items() if name not in apart)


def _commands(facts: Facts) -> Iterator[Part]:
    return (Part(f"[{command}]") for command in _listed(facts, "commands"))


def _stack(facts: Facts) -> list[str]:
    return [escaped(line) for line in str(facts["stack"]).rstrip("\n").split("\n")] if "stack" in facts else []


def _listed(facts: Facts, name: str) -> list[str]:
    return [escaped(str(text)) for text in list_or_empty(facts.get(name))]


def _subject(facts: Facts) -> str | None:
    return next((name for name in SUBJECTS if name in facts), None)


def _value(name: str, value: object) -> str:
    text = escaped(plain(value, "→" if name == "causes" else ", "))
    return f'"{text}"' if " " in text else text
