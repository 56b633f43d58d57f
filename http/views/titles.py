"""Short plain texts of statuses, for titles and descriptions of pages, feeds and embeds."""

from __future__ import annotations

from ...actors.rules.lengths import beginning
from ...actors.rules.markup import plain
from ...actors.shown.statuses import ShownStatus
from ...storage.accounts import Account

TITLE_CHARACTERS = 100
SUMMARY_CHARACTERS = 300


def name_of(account: Account) -> str:
    """Return the name that an account has chosen, else its username."""
    return account.display_name or account.username


def title_of(shown: ShownStatus) -> str:
    """Return the author's name and the beginning of the text, or the content warning in its place."""
    name, text = name_of(shown.author), _text(shown)
    return f"{name}: {shortened(text, TITLE_CHARACTERS)}" if text else name


def summary_of(shown: ShownStatus) -> str:
    """Return the beginning of the text, or the content warning in its place."""
    return shortened(_text(shown), SUMMARY_CHARACTERS)


def shortened(text: str, characters: int) -> str:
    """Return a text on one line. A longer text is cut, and ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{beginning(line, characters)}…"


def _text(shown: ShownStatus) -> str:
    return " ".join((shown.status.spoiler_text or plain(shown.status.content)).split())
