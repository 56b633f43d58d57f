"""Masking: messages and effects for operators, without the texts of people."""

from __future__ import annotations

import re
from typing import cast

from ...storage.engine.json_values import JsonObject

# Texts that say nothing about people: times, numbers, and the values of these fields, which are words of the program.
PLAIN = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)")
WORDS = frozenset({"of", "kind", "type", "state", "visibility", "language", "policy", "action", "reason_code"})
WORD = re.compile(r"[A-Za-z_]{1,40}")


def masked(fields: JsonObject) -> JsonObject:
    """Return the fields of a message, or of an effect, with their texts masked: "[12 characters]"."""
    return {name: _masked(value, name) for name, value in fields.items()}


def _masked(value: object, name: str) -> object:
    if isinstance(value, dict):
        # isinstance leaves the types of its contents open: this is JSON.
        return masked(cast("JsonObject", value))
    if isinstance(value, list):
        return [_masked(entry, name) for entry in cast("list[object]", value)]  # the same
    if not isinstance(value, str) or not value or PLAIN.fullmatch(value):
        return value
    return value if name in WORDS and WORD.fullmatch(value) else f"[{len(value)} characters]"
