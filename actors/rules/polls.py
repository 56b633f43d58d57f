"""The rules of polls. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import lengths, limits


@dataclass(frozen=True, slots=True)
class PollTerms:
    """A requested poll. Without `seconds` the poll of an edited status ends when it would have ended before."""

    options: tuple[str, ...]
    seconds: int | None
    multiple: bool = False
    hide_totals: bool = False


def complaints(terms: PollTerms) -> Iterator[str]:
    """Return all errors of a new poll, in the reference server's order."""
    if not terms.options:
        yield "Choices can't be blank"
    if terms.seconds is None:
        yield "Deadline can't be blank"
    yield from about_options(terms.options)
    if terms.seconds is not None:
        yield from about_time(terms.seconds)


def about_options(options: tuple[str, ...]) -> Iterator[str]:
    if len(options) < limits.POLL_OPTIONS_MIN:
        yield "Choices must have more than one item"
    if len(options) > limits.POLL_OPTIONS:
        yield f"Choices can't contain more than {limits.POLL_OPTIONS} items"
    if any(_too_long(option) for option in options):
        yield f"Choices cannot be longer than {limits.POLL_OPTION_CHARACTERS} characters each"
    if len(set(options)) < len(options):
        yield "Choices contain duplicate items"


def about_time(seconds: int) -> Iterator[str]:
    if seconds > limits.POLL_SECONDS:
        yield "Deadline is too far into the future"
    if seconds < limits.POLL_SECONDS_MIN:
        yield "Deadline is too soon"


def _too_long(option: str) -> bool:
    return len(option) > STORED_CHARACTERS or lengths.graphemes(option) > limits.POLL_OPTION_CHARACTERS


STORED_CHARACTERS = 2048  # a character can have any number of combining marks; storage takes this many code points
