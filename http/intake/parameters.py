"""Parameters: query string, forms and JSON bodies read alike, and the lenient types that endpoints declare.

Everything a client sends ends up in one nested dict, in the notation that the API's clients use: `a[]=1`, `a[b]=1`,
`a[0][b]=1` and `a[][b]=1`, where a new element of `a` begins as soon as a key repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Annotated, Any, Self, cast

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, PydanticUseDefault

from ...actors.rules.markup import one_line, trimmed
from ..answers.errors import HttpError, Malformed, invalid, missing

# What no honest client reaches. A request beyond it is refused before it costs anything.
MOST_PARAMETERS = 1000
DEEPEST = 8
LONGEST_NAME = 256
# Of what is looked for: more narrows nothing down any more, and costs the database seconds.
LONGEST_QUERY = 1000

LARGEST_ID = 2**63 - 1
# Ids begin with the time of their creation, so no row has this one.
UNKNOWN_ID = 0
ESCAPED = re.compile(rb"%[0-9A-Fa-f]{2}")
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "off", "OFF"})

Pairs = list[tuple[str, "str | Upload"]]
Tree = dict[str, Any]


class Upload:
    """A file part of a multipart body, spooled to disk when it is large."""

    __slots__ = ("content_type", "file", "filename", "size")

    def __init__(self, filename: str, content_type: str, file: IO[bytes], size: int) -> None:
        self.filename = filename
        self.content_type = content_type
        self.file = file
        self.size = size


# Reading ----------------------------------------------------------------------------------------------------------


def read_urlencoded(raw: bytes) -> Pairs:
    """Pairs of a query string or an urlencoded body."""
    parts = [part for part in raw.split(b"&") if part] if raw else []
    if len(parts) > MOST_PARAMETERS:
        raise Malformed("Too many parameters")
    pairs: Pairs = []
    for part in parts:
        name, _, value = part.partition(b"=")
        pairs.append((_decoded(name), _decoded(value)))
    return pairs


def _decoded(raw: bytes) -> str:
    if b"+" in raw:
        raw = raw.replace(b"+", b" ")
    return text(ESCAPED.sub(_unescaped, raw) if b"%" in raw else raw)


def _unescaped(escaped: re.Match[bytes]) -> bytes:
    """By hand, because urllib's way needs most of a second for a megabyte of nothing but percent signs."""
    return bytes((int(escaped[0][1:], 16),))


def text(raw: bytes) -> str:
    """Bytes of a client as text; what PostgreSQL could not store is refused here."""
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        raise Malformed("Parameters must be valid UTF-8") from None
    if "\0" in decoded:
        raise Malformed("Parameters must not contain NUL")
    return decoded


def read_json(raw: bytes) -> Tree:
    """The object of a JSON body; an empty body is an empty object."""
    if not raw.strip():
        return {}
    try:
        # orjson refuses lone surrogates and bad UTF-8 by itself.
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Malformed("The request body is not valid JSON") from None
    if not isinstance(value, dict):
        raise Malformed("The request body must be a JSON object")
    _check(value)
    return cast(Tree, value)


def _check(root: object) -> None:
    level, count = [root], 0
    for _ in range(DEEPEST + 1):
        count += len(level)
        if count > MOST_PARAMETERS:
            raise Malformed("Too many parameters")
        below: list[object] = []
        for value in level:
            below.extend(_inside(value))
        if not below:
            return
        level = below
    raise Malformed("Parameters are nested too deeply")


def _inside(value: object) -> Iterable[object]:
    match value:
        case str():
            if "\0" in value:
                raise Malformed("Parameters must not contain NUL")
            return ()
        case dict():
            return (*value.keys(), *value.values())
        case list():
            return value
        case _:
            return ()


# Nesting ----------------------------------------------------------------------------------------------------------

BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def nest(pairs: Pairs, onto: Tree | None = None) -> Tree:
    """One nested dict of flat pairs."""
    tree: Tree = {} if onto is None else onto
    for name, value in pairs:
        if "[" not in name:
            tree[name] = value
        else:
            _place(tree, _steps(name), value)
    return tree


def _steps(name: str) -> list[str]:
    """`a[b][]` as `a`, `b`, and an empty step for a new element."""
    if len(name) > LONGEST_NAME:
        raise Malformed("A parameter name is too long")
    head, _, rest = name.partition("[")
    steps = [head, *BRACKETS.findall(f"[{rest}")]
    if len(steps) > DEEPEST:
        raise Malformed("Parameters are nested too deeply")
    return steps


def _place(tree: Tree, steps: list[str], value: str | Upload) -> None:
    name, rest = steps[0], steps[1:]
    if not rest:
        tree[name] = value
    elif rest[0] == "":
        elements = _container(tree, name, list)
        if len(rest) == 1:
            elements.append(value)
        else:
            _place(_element(elements, rest[1:]), rest[1:], value)
    else:
        _place(_container(tree, name, dict), rest, value)


def _container(tree: Tree, name: str, kind: type) -> Any:
    found = tree.setdefault(name, kind())
    if not isinstance(found, kind):
        raise Malformed(f"Parameter {name} is given in two shapes")
    return found


def _element(elements: list[Any], steps: list[str]) -> Tree:
    """The last element, or a new one when it has this key already."""
    if not elements or not isinstance(elements[-1], dict) or _holds(elements[-1], steps):
        elements.append({})
    return elements[-1]


def _holds(tree: Tree, steps: list[str]) -> bool:
    here: Any = tree
    for step in steps:
        if step == "":
            return False  # a[][b][] goes on adding to the same b
        if not isinstance(here, dict) or step not in here:
            return False
        here = here[step]
    return True


# Types ------------------------------------------------------------------------------------------------------------


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
    """As the API reads numbers: the digits a text begins with, or 0."""
    if value is None or value == "":
        raise PydanticUseDefault
    if isinstance(value, str):
        found = re.match(r"\s*[-+]?[0-9]{1,18}", value)
        return int(found[0]) if found else 0
    return int(value) if isinstance(value, int | float) and abs(value) < LARGEST_ID else 0


def is_id(text: str) -> bool:
    """Whether a text can be the id of anything."""
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LARGEST_ID


def as_id(value: object) -> int:
    """Return the id that a client wrote: decimal digits in a string, or a JSON number. A value that cannot be an id
    becomes `UNKNOWN_ID`, so that every endpoint answers it as it answers an id that no row has."""
    if isinstance(value, str) and is_id(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_ID:
        return value
    return UNKNOWN_ID


def _optional_id(value: object) -> int:
    if value is None or value == "":
        raise PydanticUseDefault
    return as_id(value)


def _position(value: object) -> int:
    """An id that is stored as it is, without a look at the row: a value that cannot be an id is refused."""
    found = _optional_id(value)
    if found == UNKNOWN_ID and str(value) != str(UNKNOWN_ID):
        raise PydanticCustomError("invalid", "is invalid")
    return found


def _cursor(value: object) -> int:
    """Ids beyond the largest mean "from the very end", as some clients ask."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) > 18:
        return min(int(value[:20]), LARGEST_ID)
    return _optional_id(value)


def _several(value: object) -> list[object]:
    """A list, however it was written: `a[]=1`, `a=1`, or a hash with numbers for keys, in order of appearance."""
    match value:
        case None:
            raise PydanticUseDefault
        case list():
            return cast("list[object]", value)
        case dict():
            return list(cast("dict[str, object]", value).values())
        case "":
            return []
        case _:
            return [value]


def _ids(value: object) -> tuple[int, ...]:
    """The ids in a list. Empty elements are left out: forms send them for an empty list."""
    return tuple(as_id(element) for element in _several(value) if element not in ("", None))


def _numbers(value: object) -> tuple[int, ...]:
    """What is no number is none that anything has."""
    texts = map(str, _several(value))
    return tuple(int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else -1 for text in texts)


def _maybe(value: object) -> object:
    """An empty form is not given."""
    if value is None or value == "" or value == {}:
        raise PydanticUseDefault
    return value


def _upload(value: object) -> Upload | None:
    """A file part; a form that has none sends an empty text."""
    if isinstance(value, Upload):
        return value
    if value is None or value == "":
        return None
    raise PydanticCustomError("invalid", "is invalid")


def _focus(value: object) -> tuple[float, float] | None:
    """`x,y`, each from -1 to 1; what is no such pair says nothing."""
    try:
        x, y = (min(max(float(part), -1.0), 1.0) for part in str(value).split(","))
    except ValueError:
        return None
    return (x, y) if x == x and y == y else None


def _fields(value: object) -> tuple[tuple[str, str], ...]:
    """Names and values of profile fields, in order of appearance, whatever the keys of a hash are. A scalar in the
    place of the list, or of an entry, is ignored; a list of nothing else changes nothing."""
    entries = _several(value) if isinstance(value, list | dict) else []
    fields = [cast("dict[str, object]", entry) for entry in entries if isinstance(entry, dict)]
    if not fields and value not in ([], {}):
        raise PydanticUseDefault
    return tuple((_part(entry, "name"), _part(entry, "value")) for entry in fields)


def _part(entry: Mapping[str, object], name: str) -> str:
    value = entry.get(name)
    return "" if value is None else _text(value)


# What should be sent where more is understood.
DIGITS = {"type": "string", "pattern": "^[0-9]{1,19}$"}
LABELLED = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}},
}

Text = Annotated[str, BeforeValidator(_text)]
MaybeText = Annotated[str | None, BeforeValidator(_text)]
# What people write for people, as it is stored: `Prose` may have line breaks, a `Line` has none.
Prose = Annotated[Text, AfterValidator(trimmed)]
MaybeProse = Annotated[MaybeText, AfterValidator(trimmed)]
Line = Annotated[Text, AfterValidator(one_line)]
MaybeLine = Annotated[MaybeText, AfterValidator(one_line)]
Given = Annotated[str, BeforeValidator(_given)]
Sought = Annotated[Given, AfterValidator(lambda sought: sought[:LONGEST_QUERY])]
Flag = Annotated[bool, BeforeValidator(_flag)]
MaybeFlag = Annotated[bool | None, BeforeValidator(_flag)]  # None: not given, which is not the same as false
Count = Annotated[int | None, BeforeValidator(_count)]
Choice = BeforeValidator(_choice)  # for Annotated[Literal[...] | None, Choice]: an empty string is not given
Several = BeforeValidator(_several)  # for Annotated[list[X], Several]
Texts = Annotated[tuple[Text, ...], Several]
StatusId = Annotated[int | None, BeforeValidator(_optional_id), WithJsonSchema(DIGITS)]
AccountId = StatusId
Position = Annotated[int | None, BeforeValidator(_position), WithJsonSchema(DIGITS)]
Cursor = Annotated[int | None, BeforeValidator(_cursor), WithJsonSchema(DIGITS)]
Ids = Annotated[tuple[int, ...], BeforeValidator(_ids), WithJsonSchema({"type": "array", "items": DIGITS})]
IdsAsWritten = Annotated[tuple[Text, ...], Several, WithJsonSchema({"type": "array", "items": DIGITS})]
Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
Maybe = BeforeValidator(_maybe)  # for Annotated[SomeInput | None, Maybe]
MaybeUpload = Annotated[Upload | None, PlainValidator(_upload), WithJsonSchema({"type": "string", "format": "binary"})]
Focus = Annotated[tuple[float, float] | None, BeforeValidator(_focus), WithJsonSchema({"type": "string"})]
Fields = Annotated[tuple[tuple[str, str], ...] | None, BeforeValidator(_fields), WithJsonSchema(LABELLED)]


class Input(BaseModel):
    """Base of what an endpoint takes. Unknown parameters are ignored, wrong ones refused in the API's words."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def read(cls, parameters: Mapping[str, object]) -> Self:
        """The checked input; 400 when something is missing, 422 when something is wrong."""
        try:
            return cls.model_validate(parameters)
        except ValidationError as error:
            raise _refusal(error) from None

    def files(self) -> list[Upload]:
        """The files that were sent."""
        return [value for _, value in self if isinstance(value, Upload)]


def _refusal(error: ValidationError) -> HttpError:
    found = error.errors(include_url=False, include_input=False)
    for one in found:
        if one["type"] in ("missing", "blank"):
            return missing(str(one["loc"][-1]))
    return invalid(*(f"{attribute(one['loc'])} {_message(one)}" for one in found))


def attribute(path: Sequence[int | str]) -> str:
    """A parameter's name as sentences have it: `in_reply_to_id` is "In reply to"."""
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    words = name.removesuffix("_id").replace("_", " ")
    return words[:1].upper() + words[1:]


def _message(error: Mapping[str, Any]) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "invalid":
            return "is invalid"
        case "literal_error" | "enum":
            return "is not included in the list"
        case "string_too_long":
            return f"is too long (maximum is {context['max_length']} characters)"
        case "string_too_short":
            return f"is too short (minimum is {context['min_length']} characters)"
        case "too_long":
            return f"is too long (maximum is {context['max_length']} items)"
        case "value_error":
            return str(context["error"])
        case _:
            return "is invalid"
