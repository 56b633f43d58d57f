"""Tag, with the days on which it was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.rules.text import tag_url
from ...storage.statuses import StatusTag


@dataclass(frozen=True, slots=True)
class TagFlags:
    """What a viewer does with a hashtag."""

    following: bool
    featuring: bool


def tag_fields(
    tag: StatusTag,
    days: Sequence[datetime],
    uses: Mapping[int, tuple[int, int]],
    base_url: str,
    flags: TagFlags | None = None,
) -> dict[str, object]:
    """Return a hashtag with its history.

    `days` are the beginnings of days, oldest first. `uses` has the number of uses and of accounts on the n-th day.
    Without a viewer there are no `flags`.
    """
    fields: dict[str, object] = {
        "id": str(tag.id),
        "name": tag.name,
        "url": tag_url(base_url, tag.name),
        "history": [day_fields(days[number], *uses.get(number, (0, 0))) for number in reversed(range(len(days)))],
    }
    return fields if flags is None else fields | {"following": flags.following, "featuring": flags.featuring}


def day_fields(begins: datetime, uses: int, accounts: int) -> dict[str, str]:
    """Return a day of the history of a hashtag or a link."""
    return {"day": str(int(begins.timestamp())), "uses": str(uses), "accounts": str(accounts)}
