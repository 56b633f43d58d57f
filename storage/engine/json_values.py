"""The type of JSON objects."""

from __future__ import annotations

from typing import Any, TypeAlias

# An object as JSON or a jsonb column holds it. Its values are of any type: the code that reads a key knows which one,
# and what clients or other servers send is checked by pydantic or msgspec before it becomes such an object.
JsonObject: TypeAlias = dict[str, Any]
