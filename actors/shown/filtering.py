"""A viewer's filters on statuses as they are shown, alike in answers, streams and pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ..rules.filters import FilterMatch, Filters, TextOf, hides
from .statuses import ShownStatus


def matches_in(
    shown: ShownStatus, filters: Filters, text_of: TextOf, now: Callable[[], datetime]
) -> Sequence[FilterMatch]:
    """Return the matches of a viewer's filters in a status. A boost has the matches of the boosted status."""
    if not filters:
        return ()
    original = shown.boosted or shown
    return filters.matches(original.status, None if original is shown else shown.id, text_of, now())


def is_hidden(
    shown: ShownStatus, viewer: int | None, context: str, filters: Filters, text_of: TextOf, now: Callable[[], datetime]
) -> bool:
    """True if the viewer's filters hide the status in this context. They never hide the viewer's own statuses."""
    if not filters.may_hide(context) or viewer in (shown.author.id, shown.boosted and shown.boosted.author.id):
        return False
    return hides(matches_in(shown, filters, text_of, now), context)
