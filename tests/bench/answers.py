"""What answers must hold. A page that is empty, or shorter than it should be, is cheap and proves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Check = Callable[[bytes], None]


class WrongAnswer(AssertionError):
    """Raised when an answer is not the one that was to be measured."""


def page_of(count: int, *fields: str) -> Check:
    """Return a check for a page with this many different items, all of which have these fields."""

    def check(body: bytes) -> None:
        items: list[dict[str, object]] = _parsed(body, list)
        _demand(len(items) == count, f"not a page of {count}", body)
        _demand(len({item.get("id") for item in items}) == count, "one item twice, or without an id", body)
        missing = [field for field in fields for item in items if not item.get(field)]
        _demand(not missing, f"items without {', '.join(sorted(set(missing)))}", body)

    return check


def page_of_statuses(count: int) -> Check:
    return page_of(count, "content", "account")


def page_of_notifications(count: int) -> Check:
    return page_of(count, "type", "account", "status")


def entity(**fields: str) -> Check:
    """Return a check for an object whose fields have these values."""

    def check(body: bytes) -> None:
        found: dict[str, object] = _parsed(body, dict)
        for name, value in fields.items():
            _demand(found.get(name) == value, f"{name} is not {value}", body)

    return check


def instance(body: bytes) -> None:
    """Check the description of the server."""
    found: dict[str, object] = _parsed(body, dict)
    for name in ("domain", "title", "version", "configuration"):
        _demand(bool(found.get(name)), f"no {name}", body)


def _parsed(body: bytes, kind: type) -> Any:
    """Return the JSON of an answer, which is of this kind."""
    try:
        found = json.loads(body)
    except ValueError:
        raise WrongAnswer(f"not JSON: {body[:200]!r}") from None
    _demand(isinstance(found, kind), f"not a JSON {kind.__name__}", body)
    return found


def _demand(holds: bool, problem: str, body: bytes) -> None:
    if not holds:
        raise WrongAnswer(f"{problem}: {body[:200]!r}")
