"""Tag, with the days on which it was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ...actors.rules.text import tag_url
from ...storage.statuses import StatusTag


def tag_fields(
    tag: StatusTag,
    days: Sequence[datetime],
    uses: Mapping[int, tuple[int, int]],
    base_url: str,
    featuring: bool | None = None,
) -> dict[str, object]:
    """`days` are the beginnings of days, oldest first, `uses` how often and by how many on the n-th of them.

    `featuring` is for a viewer; without one nothing is said about it.
    """
    fields: dict[str, object] = {
        "id": str(tag.id),
        "name": tag.name,
        "url": tag_url(base_url, tag.name),
        "history": [_day(days[number], *uses.get(number, (0, 0))) for number in reversed(range(len(days)))],
    }
    return fields if featuring is None else fields | {"featuring": featuring}


def _day(begins: datetime, uses: int, accounts: int) -> dict[str, str]:
    return {"day": str(int(begins.timestamp())), "uses": str(uses), "accounts": str(accounts)}
