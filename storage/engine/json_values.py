"""The type of JSON objects."""

from __future__ import annotations

from typing import Any, TypeAlias

# An object as JSON or a jsonb column holds it. Its values are of any type: the code that reads a key knows its type,
# and input of clients and other servers is checked by pydantic or msgspec before it becomes a JsonObject.
JsonObject: TypeAlias = dict[str, Any]
