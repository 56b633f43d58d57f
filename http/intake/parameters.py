"""The types that endpoints declare their parameters with.

They are lenient: each takes a value from a query string, a form or JSON, in every way in which clients write it.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, PydanticUseDefault

from ...actors.rules.markup import one_line, trimmed
from .nesting import Tree, Value

# The longest search query. A longer one finds nothing more, and costs the database seconds.
LONGEST_QUERY = 1000
LARGEST_COUNT = 2**63 - 1
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "off", "OFF"})
# The end of a time whose offset came in a form that does not escape `+`.
LOST_PLUS = re.compile(r"(:[0-9]{2}(?:\.[0-9]{1,9})?) ([0-9]{2}:?[0-9]{2})$")


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case None:
            raise PydanticUseDefault
        case _:
            raise PydanticCustomError("invalid", "is invalid")


def _given(value: object) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise PydanticCustomError("blank", "can't be blank")
    return _text(value)


def _choice(value: object) -> object:
    if value is None or value == "":
        raise PydanticUseDefault
    return value


def _flag(value: object) -> bool:
    if value is None or value == "":
        raise PydanticUseDefault
    return value not in FALSE if isinstance(value, str) else bool(value)


def _count(value: object) -> int:
    """A number as the API reads it: the digits at the start of a text, or 0."""
    if value is None or value == "":
        raise PydanticUseDefault
    if isinstance(value, str):
        found = re.match(r"\s*[-+]?[0-9]{1,18}", value)
        return int(found[0]) if found else 0
    return int(value) if isinstance(value, int | float) and abs(value) < LARGEST_COUNT else 0


def as_list(value: Value) -> list[Value]:
    """Return a list that was written as `a[]=1`, as `a=1`, or as a hash of which the values count, in their order."""
    match value:
        case None:
            raise PydanticUseDefault
        case list():
            return value
        case dict():
            return list(value.values())
        case "":
            return []
        case _:
            return [value]


def as_forms(value: Value) -> list[Tree]:
    """Return the forms in a list or a hash. A scalar in place of the list or of a form is ignored."""
    entries = as_list(value) if isinstance(value, list | dict) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def as_time(text: str) -> str:
    """Return the text of a time, with the `+` of its offset where a form turned it into a space."""
    return LOST_PLUS.sub(r"\1+\2", text.strip())


def _numbers(value: Value) -> tuple[int, ...]:
    """The numbers in a list. Each text that is not a number becomes -1, which is the position of nothing."""
    texts = map(str, as_list(value))
    return tuple(int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else -1 for text in texts)


def _maybe(value: object) -> object:
    """A nested form. An empty one counts as not given; PHP writes it as a list."""
    if value in (None, "", {}, []):
        raise PydanticUseDefault
    return value


def _focus(value: object) -> tuple[float, float] | None:
    """The pair in `x,y`, each from -1 to 1; None for any other text."""
    try:
        x, y = (min(max(float(part), -1.0), 1.0) for part in str(value).split(","))
    except ValueError:
        return None
    return (x, y) if x == x and y == y else None


def _fields(value: Value) -> tuple[tuple[str, str], ...]:
    """Names and values of profile fields, in order of appearance. The keys of a hash do not matter.

    A scalar in place of the list or of an entry is ignored. A list of nothing but scalars counts as not given.
    """
    fields = as_forms(value)
    if not fields and value not in ([], {}):
        raise PydanticUseDefault
    return tuple((_part(entry, "name"), _part(entry, "value")) for entry in fields)


def _part(entry: Tree, name: str) -> str:
    value = entry.get(name)
    return "" if value is None else _text(value)


def _seconds(value: object) -> int | None:
    """A number of seconds; None if it is empty, which means for ever and differs from a value that is not given."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", value):
        return max(0, int(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_COUNT:
        return max(0, int(value))
    raise PydanticCustomError("invalid", "is invalid")


LABELLED = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}},
}

Text = Annotated[str, BeforeValidator(_text)]
MaybeText = Annotated[str | None, BeforeValidator(_text)]
# Text that people write, as it is stored: `Prose` may have line breaks, a `Line` has none.
Prose = Annotated[Text, AfterValidator(trimmed)]
MaybeProse = Annotated[MaybeText, AfterValidator(trimmed)]
Line = Annotated[Text, AfterValidator(one_line)]
MaybeLine = Annotated[MaybeText, AfterValidator(one_line)]
Given = Annotated[str, BeforeValidator(_given)]
Sought = Annotated[Given, AfterValidator(lambda sought: sought[:LONGEST_QUERY])]
Flag = Annotated[bool, BeforeValidator(_flag)]
MaybeFlag = Annotated[bool | None, BeforeValidator(_flag)]  # None: not given, which differs from false
Count = Annotated[int | None, BeforeValidator(_count)]
MaybeSeconds = Annotated[int | None, BeforeValidator(_seconds)]
Choice = BeforeValidator(_choice)  # for Annotated[Literal[...] | None, Choice]: an empty string is not given
Several = BeforeValidator(as_list)  # for Annotated[list[X], Several]
SeveralForms = BeforeValidator(as_forms)  # for Annotated[tuple[SomeInput, ...], SeveralForms]
Texts = Annotated[tuple[Text, ...], Several]
MaybeTexts = Annotated[tuple[Text, ...] | None, Several]  # None: not given, which differs from none
Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
Maybe = BeforeValidator(_maybe)  # for Annotated[SomeInput | None, Maybe]
Focus = Annotated[tuple[float, float] | None, BeforeValidator(_focus), WithJsonSchema({"type": "string"})]
Fields = Annotated[tuple[tuple[str, str], ...] | None, BeforeValidator(_fields), WithJsonSchema(LABELLED)]
