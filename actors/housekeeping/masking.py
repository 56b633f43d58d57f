"""Masking: messages and effects for operators, without the texts of people."""

from __future__ import annotations

import re

from ...storage.engine.json_values import JsonObject, is_list, is_object

# Texts that say nothing about people: times, numbers, and the values of these fields, which are words of the program.
PLAIN = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)")
WORDS = frozenset({"of", "kind", "type", "state", "visibility", "language", "policy", "action", "reason_code"})
WORD = re.compile(r"[A-Za-z_]{1,40}")


def masked(fields: JsonObject) -> JsonObject:
    """Return the fields of a message, or of an effect, with their texts masked: "[12 characters]"."""
    return {name: _masked(value, name) for name, value in fields.items()}


def _masked(value: object, name: str) -> object:
    if is_object(value):
        return masked(value)
    if is_list(value):
        return [_masked(element, name) for element in value]
    if not isinstance(value, str) or not value or PLAIN.fullmatch(value):
        return value
    return value if name in WORDS and WORD.fullmatch(value) else f"[{len(value)} characters]"
