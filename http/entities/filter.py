"""Filter and its parts, V1::Filter, and FilterResult: the filters that match a status."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from ...actors.rules.filters import FilterMatch, Filters
from ...actors.shown import filtering
from ...actors.shown.statuses import ShownStatus
from ...storage.filters import Filter, FilterKeyword, FilterStatus
from .rendered import Renderings
from .times import maybe_instant

Matches = Sequence[FilterMatch]

# The member of a status without matches. Texts of people can't contain it, because their quotes are escaped.
UNFILTERED = b'"filtered":[]'


def filter_fields(filter: Filter) -> dict[str, object]:
    return _described(filter) | {
        "keywords": [keyword_fields(keyword) for keyword in filter.keywords],
        "statuses": [entry_fields(entry) for entry in filter.statuses],
    }


def keyword_fields(keyword: FilterKeyword) -> dict[str, object]:
    return {"id": str(keyword.id), "keyword": keyword.keyword, "whole_word": keyword.whole_word}


def entry_fields(entry: FilterStatus) -> dict[str, object]:
    return {"id": str(entry.id), "status_id": str(entry.status_id)}


def phrase_fields(filter: Filter, keyword: FilterKeyword) -> dict[str, object]:
    """Return a V1::Filter: a keyword with the terms of its filter."""
    return {
        "id": str(keyword.id),
        "phrase": keyword.keyword,
        "context": list(filter.contexts),
        "expires_at": maybe_instant(filter.expires_at),
        "irreversible": filter.action == "hide",
        "whole_word": keyword.whole_word,
    }


def matches_in(shown: ShownStatus, filters: Filters, renderings: Renderings) -> Matches:
    """Return the matches of a viewer's filters in a status."""
    return filtering.matches_in(shown, filters, renderings.text_of, renderings.now)


def is_hidden(shown: ShownStatus, viewer: int | None, context: str, filters: Filters, renderings: Renderings) -> bool:
    """True if the viewer's filters hide the status in this context."""
    return filtering.is_hidden(shown, viewer, context, filters, renderings.text_of, renderings.now)


def with_matches(rendered: bytes, matches: Matches) -> bytes:
    """Insert matches into rendered bytes without matches."""
    return rendered.replace(UNFILTERED, b'"filtered":%b' % orjson.dumps(list(map(_result, matches))))


def _result(match: FilterMatch) -> dict[str, object]:
    return {
        "filter": _described(match.filter),
        "keyword_matches": None if match.text is None else [match.text],
        "status_matches": [str(id) for id in match.status_ids] or None,
    }


def _described(filter: Filter) -> dict[str, object]:
    return {
        "id": str(filter.id),
        "title": filter.title,
        "context": list(filter.contexts),
        "expires_at": maybe_instant(filter.expires_at),
        "filter_action": filter.action,
    }
