"""The message to a device about a notification: a title in the reader's language and the beginning of a text.

The titles are in `texts/`, a file for each language with a line for each type. English is used for other languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

import orjson

from ..rules.lengths import beginning
from ..rules.markup import one_line, plain
from ..shown.notifications import ShownNotification

FOLDER = Path(__file__).parent / "texts"
FALLBACK = "en"
LONGEST_BODY = 140
LONGEST_NAME = 100  # of remote accounts; push services take about 4,000 bytes in all


@dataclass(frozen=True, slots=True)
class PushReader:
    """The user of a device: the token of the subscription, and the language of the user."""

    access_token: str
    locale: str | None


def message_of(shown: ShownNotification, reader: PushReader, icon: str) -> bytes:
    """Return the message for a device, as JSON. `notification_id` is a number, because apps decode only that."""
    language = language_of(reader.locale)
    name = cut(one_line(shown.account.display_name) or shown.account.username, LONGEST_NAME)
    return orjson.dumps(
        {
            "access_token": reader.access_token,
            "preferred_locale": reader.locale or FALLBACK,
            "notification_id": shown.id,
            "notification_type": shown.notification.type,
            "icon": icon,
            "title": _titles()[language][shown.notification.type].substitute(name=name),
            "body": cut(_text_of(shown), LONGEST_BODY),
        }
    )


def language_of(locale: str | None) -> str:
    """Return the language of the titles for a locale: `pt-BR` falls back to `pt`."""
    named = (locale or "").lower()
    return next(language for language in (named, named.partition("-")[0], FALLBACK) if language in _titles())


def cut(text: str, most: int) -> str:
    """Return a text of at most `most` characters. A text that was cut ends in three dots."""
    return text if len(text) <= most else beginning(text, most - 3).rstrip() + "..."


def _text_of(shown: ShownNotification) -> str:
    """Return the content warning of a status, else its text; without a status, the bio of the account that acted."""
    if shown.status is None:
        return plain(shown.account.note)
    status = shown.status.status
    return one_line(status.spoiler_text) or plain(status.content)


@cache
def _titles() -> dict[str, dict[str, Template]]:
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.txt"))}


def _read(path: Path) -> dict[str, Template]:
    lines = (line.partition(": ") for line in path.read_text("utf-8").splitlines())
    return {type: Template(title) for type, _, title in lines}
