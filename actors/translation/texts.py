"""The translated texts of a status: writes them as HTML for a translation service, and reads its answer.

The answer is not trusted: its HTML is sanitised like that of other servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from ...storage.statuses import Status
from ..rules import markup

LONGEST_PLAIN = 5000  # characters of a plain text in an answer
# Custom emoji are written as :name: and must not be translated. `translate` is the attribute of HTML for that.
SHORTCODE = regex.compile(r":[A-Za-z0-9_+-]{2,}:")
KEPT_SHORTCODE = regex.compile(r'<span translate="no">(:[A-Za-z0-9_+-]{2,}:)</span>')


@dataclass(frozen=True, slots=True)
class StatusTexts:
    """The texts of a status. `content` is HTML, the other texts are plain. `descriptions` are the descriptions of its
    media."""

    content: str
    spoiler: str
    options: tuple[str, ...]
    descriptions: tuple[str, ...]

    @property
    def characters(self) -> int:
        return sum(map(len, (self.content, self.spoiler, *self.options, *self.descriptions)))


def texts_of(status: Status) -> StatusTexts:
    return StatusTexts(
        status.content,
        status.spoiler_text,
        tuple(option.title for option in status.poll.options) if status.poll else (),
        tuple(medium.description for medium in status.media),
    )


def as_html(texts: StatusTexts) -> list[str]:
    """Return the texts that are not empty, as HTML."""
    content = markup.map_text(texts.content, lambda before, text: _marked(markup.escape(text)))
    plains = (texts.spoiler, *texts.options, *texts.descriptions)
    return [
        html for html in (content, *(_marked(markup.escape(text)).replace("\n", "<br>") for text in plains)) if html
    ]


def from_html(texts: StatusTexts, answered: Sequence[str]) -> StatusTexts:
    """Return the translated texts from the answers, which are for the texts that are not empty."""
    answers = iter(answered)
    content = KEPT_SHORTCODE.sub(r"\1", markup.sanitise(next(answers))) if texts.content else ""
    spoiler, *lines = _plains((texts.spoiler, *texts.options), answers)
    descriptions = tuple(_plains(texts.descriptions, answers))
    return StatusTexts(content, _line(spoiler), tuple(map(_line, lines)), tuple(map(markup.trimmed, descriptions)))


def _plains(texts: Sequence[str], answers: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield markup.plain(markup.sanitise(next(answers)))[:LONGEST_PLAIN] if text else ""


def _line(text: str) -> str:
    return " ".join(markup.tidy(text).split())


def _marked(html: str) -> str:
    return SHORTCODE.sub(r'<span translate="no">\g<0></span>', html)
