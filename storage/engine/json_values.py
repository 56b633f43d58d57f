"""The types of JSON values, and what tells them apart."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeGuard

# An object as JSON or a jsonb column holds it. Its values are of any type: the code that reads a key knows its type,
# and input of clients and other servers is checked by pydantic or msgspec before it becomes a JsonObject.
JsonObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JsonObject]:
    """True for a JSON object, also for a table of TOML: their keys are texts."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """True for a JSON array."""
    return isinstance(value, list)


def object_or_empty(value: object) -> JsonObject:
    """Return a JSON object, or an empty object in place of another value."""
    return value if is_object(value) else {}


def list_or_empty(value: object) -> list[object]:
    """Return a JSON array, or an empty array in place of another value."""
    return value if is_list(value) else []
