"""The operator's texts as clients and pages show them: HTML, made again when a file changes.

`await context.operator_texts.current()` has the rules, the description, the privacy policy and the terms of service.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import zip_longest
from pathlib import Path

import trio

from ...storage.operator_texts import Rule, SourceText, TextFiles, UnusableTexts, read_texts
from ..kernel import Clock, Record
from ..rules.documents import document_html, terms_on
from .computed import Computed

NOTICE = "texts"
READ_AGAIN = timedelta(seconds=5)  # after this time the files are looked at again: an edit needs no signal

# This says what the software does with data, as HTML. An operator who does more says so in `privacy.md`.
PRIVACY = """
<p>This server keeps what you give it: your e-mail address, your password as a hash, your profile, your posts and what
you do with other people's posts. Public posts can be read by all people and may be copied by other servers; all other
posts are shown to the people you address.</p>
<p>Nothing of it is sold. The network addresses of visitors are held in memory, to limit how much one of them can ask
for; the one from which an account was made may be kept with it.</p>
<p>What you delete is not shown any more from that moment on.</p>
"""
PRIVACY_SINCE = datetime(2026, 11, 21, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OperatorText:
    """A text as HTML, and when it was changed last; None if that is not known."""

    html: str
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of service, in force from a day on until those that succeed them."""

    effective: date
    html: str
    succeeded_by: date | None


@dataclass(frozen=True, slots=True)
class CurrentTexts:
    """All texts. `terms` is in the order of the dates, and empty if the server has none."""

    description: OperatorText
    privacy: OperatorText
    terms: tuple[Terms, ...]
    rules: tuple[Rule, ...]

    def terms_on(self, day: date) -> Terms | None:
        """Return the terms in force on a day; before their first day, the first terms."""
        effective = terms_on(day, [terms.effective for terms in self.terms])
        return next((terms for terms in self.terms if terms.effective == effective), None)


class OperatorTexts:
    """The texts of a data folder. `description` stands where the folder has none."""

    def __init__(self, folder: Path, description: str, clock: Clock, record: Record) -> None:
        self._folder = folder
        self._description = description
        self._record = record
        self._trouble = ""
        self._made_of = TextFiles(), description
        self._texts = _made(TextFiles(), description)
        self._current = Computed(self._read, clock, READ_AGAIN)

    def forget(self) -> None:
        """Read the files again for the next request."""
        self._current.forget()

    def describe(self, description: str) -> None:
        """Have another text stand where the folder has no description."""
        if description != self._description:
            self._description = description
            self.forget()

    async def current(self) -> CurrentTexts:
        """Return the texts. The files are read at most every few seconds; unusable files are logged."""
        return await self._current.get()

    async def _read(self) -> CurrentTexts:
        """Read the files again, and return the texts. If a file can't be used, the texts that were read before stay."""
        try:
            files = await trio.to_thread.run_sync(read_texts, self._folder)
        except UnusableTexts as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                self._record("policies.unusable", error=error, decision="the texts that were read before are shown")
            return self._texts
        self._trouble = ""
        description = self._description
        if (files, description) != self._made_of:
            self._texts = await trio.to_thread.run_sync(_made, files, description)
            self._made_of = files, description
        return self._texts


def _made(files: TextFiles, description: str) -> CurrentTexts:
    following = [effective for effective, _ in files.terms[1:]]
    return CurrentTexts(
        description=_text(files.description) or OperatorText(_paragraph(description), None),
        privacy=_text(files.privacy) or OperatorText(PRIVACY.strip(), PRIVACY_SINCE),
        terms=tuple(
            Terms(effective, document_html(source.markdown), next_one)
            for (effective, source), next_one in zip_longest(files.terms, following)
        ),
        rules=files.rules,
    )


def _text(source: SourceText | None) -> OperatorText | None:
    return None if source is None else OperatorText(document_html(source.markdown), source.updated_at)


def _paragraph(description: str) -> str:
    text = html.escape(description.strip())
    return f"<p>{text}</p>" if text else ""
