"""The input of an endpoint: its base class, the types of its parameters, and the errors for invalid parameters.

The types are lenient: they accept values of query strings, forms and JSON, in all spellings of known clients.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError, PydanticUseDefault

from ...actors.rules.identity import pasted_domain
from ...actors.rules.instants import ascii_digits
from ...actors.rules.markup import one_line, trimmed
from ..answers.errors import HttpError, invalid, missing
from .decoding import Tree, Upload, Value, forms_in, written_in

# The longest search query, in characters. More would find nothing more, and cost the database seconds.
LONGEST_QUERY = 1000
LARGEST_COUNT = 2**63 - 1
LARGEST_ID = 2**63 - 1
# Ids begin with the time of their creation, so no row has this id.
UNKNOWN_ID = 0
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "off", "OFF"})
LONGEST_TIME = 100  # characters of a text that may be one
# The end of a time whose offset came in a form that does not escape `+`.
LOST_PLUS = re.compile(r"(:[0-9]{2}(?:\.[0-9]{1,9})?) ([0-9]{2}:?[0-9]{2})$")
ARABIC_POINT = "\u066b"  # between a whole number and its decimals
# A file as a text (RFC 2397), which Mastodon reads too. Libraries send avatars so, in JSON and in forms. A body without
# file parts is small (`LARGEST_BODY`), and so are the texts of one with file parts, so that this is quickly decoded.
# Types have at most 127 characters on each side (RFC 6838).
DATA_URL = re.compile(
    r"data:(?P<type>[\w.+-]{1,127}/[\w.+-]{1,127})?(?:;[\w.+-]{1,127}=[^;,]{0,100}){0,10};base64,", re.IGNORECASE
)


class Input(BaseModel):
    """The base of an endpoint's parameters. Unknown parameters are ignored, invalid parameters are refused."""

    # The first request builds the validator: all 160 would take an eighth of the start, and 2 MiB.
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @classmethod
    def read(cls, parameters: Mapping[str, object]) -> Self:
        """Return the checked input. Raises 400 if a parameter is missing, and 422 if a parameter is invalid."""
        try:
            return cls.model_validate(parameters)
        except ValidationError as error:
            raise _refusal(error) from None

    def files(self) -> list[Upload]:
        """Return the files of the request."""
        return [value for _, value in self if isinstance(value, Upload)]


def _refusal(error: ValidationError) -> HttpError:
    found = error.errors(include_url=False)
    for details in found:
        if details["type"] in ("missing", "blank"):
            return missing(str(details["loc"][-1]))
    return invalid(*(f"{attribute(details['loc'])} {_message(details)}" for details in found))


def attribute(path: Sequence[int | str]) -> str:
    """Return a parameter's name as error messages write it: `in_reply_to_id` is "In reply to"."""
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    words = name.removesuffix("_id").replace("_", " ")
    return words[:1].upper() + words[1:]


def _message(error: ErrorDetails) -> str:
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
            # pydantic also reports it for texts, if the type of the field has a validator of ours.
            unit = "characters" if isinstance(error["input"], str) else "items"
            return f"is too long (maximum is {context['max_length']} {unit})"
        case "value_error":
            return str(context["error"])
        case _:
            return "is invalid"


def is_nothing(value: object) -> bool:
    """True for a value that counts as not given: null, an empty text, and `false`.

    JavaScript's `hasPoll && poll` is `false` without a poll. It means something for flags alone.
    """
    return value is None or value is False or value == ""


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case None | False:
            raise PydanticUseDefault
        case True:
            return "true"
        case int() | float():
            return str(value)
        case _:
            raise PydanticCustomError("invalid", "is invalid")


def _given(value: object) -> str:
    if is_nothing(value) or (isinstance(value, str) and not value.strip()):
        raise PydanticCustomError("blank", "can't be blank")
    return _text(value)


def _choice(value: object) -> object:
    if is_nothing(value):
        raise PydanticUseDefault
    return value


def _flag(value: object) -> bool:
    if value is None or value == "":
        raise PydanticUseDefault
    return value not in FALSE if isinstance(value, str) else bool(value)


def _count(value: object) -> int:
    """Return a number as the API reads it: the digits at the start of a text, or 0."""
    if is_nothing(value):
        raise PydanticUseDefault
    if isinstance(value, str):
        found = re.match(r"\s*[-+]?\d{1,18}", value)
        return int(found[0]) if found else 0
    return int(value) if isinstance(value, int | float) and abs(value) < LARGEST_COUNT else 0


def as_list(value: Value) -> list[Value]:
    """Return a list that was written as `a[]=1`, as `a=1`, as JSON in a text, or as a hash, whose keys are ignored."""
    match value:
        case None | False:
            raise PydanticUseDefault
        case list():
            return value
        case dict():
            return list(value.values())
        case "":
            return []
        case str():
            found = written_in(value)
            return found if isinstance(found, list) else [value]
        case _:
            return [value]


def _several(value: Value) -> list[Value]:
    """Return a list without null and `false`, which `[isOpen && "home"]` has. A list of these alone is not given."""
    elements = as_list(value)
    given: list[Value] = [element for element in elements if element is not None and element is not False]
    if elements and not given:
        raise PydanticUseDefault
    return given


def as_forms(value: Value) -> list[Tree]:
    """Return the forms in a list or a hash. A scalar in place of the list or of a form is ignored.

    The list and each form may be JSON in a text.
    """
    value = written_in(value)
    return forms_in(as_list(value)) if isinstance(value, list | dict) else []


def as_time(text: str) -> str:
    """Return the text of a time, with the `+` of its offset where a form turned it into a space."""
    text = text.strip()
    return text if len(text) > LONGEST_TIME else LOST_PLUS.sub(r"\1+\2", ascii_digits(text))


def _numbers(value: Value) -> tuple[int, ...]:
    """Return the numbers in a list. A text that is not a number becomes -1, which is no valid position."""
    texts = map(str, as_list(value))
    return tuple(int(text) if text.isdecimal() and len(text) <= 9 else -1 for text in texts)


def _maybe(value: Value) -> Value:
    """Return a nested form, which may be JSON in a text. An empty form counts as not given; PHP writes it as a list."""
    value = written_in(value)
    if is_nothing(value) or value in ({}, []):
        raise PydanticUseDefault
    return value


def _focus(value: object) -> tuple[float, float] | None:
    """The pair in `x,y`, each from -1 to 1; None for any other text.

    Some apps print numbers as the device's language has them: `0,5,-0,25` in German, with digits of their own in
    Arabic, which `float` reads.
    """
    parts = str(value).replace(ARABIC_POINT, ".").split(",")
    if len(parts) == 4:
        parts = [".".join(parts[:2]), ".".join(parts[2:])]
    try:
        x, y = (min(max(float(part), -1.0), 1.0) for part in parts)
    except ValueError:
        return None
    return (x, y) if x == x and y == y else None


def _fields(value: Value) -> tuple[tuple[str, str], ...]:
    """Return names and values of profile fields, in order of appearance. The keys of a hash are ignored.

    A scalar in place of the list or of an entry is ignored. A list that has only scalars counts as not given.
    """
    fields = as_forms(value)
    if not fields and value not in ([], {}):
        raise PydanticUseDefault
    return tuple((_part(entry, "name"), _part(entry, "value")) for entry in fields)


def _part(entry: Tree, name: str) -> str:
    value = entry.get(name)
    return "" if is_nothing(value) else _text(value)


def _seconds(value: object) -> int | None:
    """Return a number of seconds; None for an empty value, which means for ever. A missing value has the default."""
    if is_nothing(value):
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d{1,18}\s*", value):
        return max(0, int(value))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_COUNT:
        return max(0, int(value))
    raise PydanticCustomError("invalid", "is invalid")


def _upload(value: object) -> Upload | None:
    """Return a file part, or the file in a `data:` URL; None for an empty text, which forms without a file send."""
    if isinstance(value, Upload):
        return value
    if is_nothing(value):
        return None
    if isinstance(value, str) and (found := DATA_URL.match(value)) is not None:
        try:
            data = binascii.a2b_base64(value[found.end() :])
        except ValueError:
            raise PydanticCustomError("invalid", "is invalid") from None
        return Upload("", found["type"] or "", BytesIO(data), len(data))
    raise PydanticCustomError("invalid", "is invalid")


def is_id(text: str) -> bool:
    """True if the text can be an id."""
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LARGEST_ID


def as_id(value: object) -> int:
    """Return the id that a client wrote: decimal digits in a string, or a JSON number.

    A value that cannot be an id becomes `UNKNOWN_ID`, so that every endpoint answers it as an unknown id.
    """
    if isinstance(value, str) and is_id(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_ID:
        return value
    return UNKNOWN_ID


def _optional_id(value: object) -> int:
    if is_nothing(value):
        raise PydanticUseDefault
    return as_id(value)


def _position(value: object) -> int:
    """Return an id that is stored without reading its row. Refuses a value that cannot be an id."""
    found = _optional_id(value)
    if found == UNKNOWN_ID and str(value) != str(UNKNOWN_ID):
        raise PydanticCustomError("invalid", "is invalid")
    return found


def _cursor(value: object) -> int:
    """Return the id below which a page begins. Some clients send numbers above the largest id for the newest page."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) > 18:
        return min(int(value.lstrip("0")[:20] or "0"), LARGEST_ID)
    return _optional_id(value)


def _lower_cursor(value: object) -> int:
    """Return the id above which a page ends. A value that can't be an id becomes the largest id: the page is empty.

    A client that was used with another software may send an id of that software. It must not take all old entries for
    new entries.
    """
    found = _cursor(value)
    return LARGEST_ID if found == UNKNOWN_ID and not _is_zero(value) else found


def _is_zero(value: object) -> bool:
    """True for the id 0, by which some clients request the oldest entries."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text != "" and not text.strip("0")


def _ids(value: Value) -> tuple[int, ...]:
    """Return the ids in a list. Empty elements are left out: forms send them for an empty list."""
    return tuple(as_id(element) for element in as_list(value) if not is_nothing(element))


LABELLED = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}},
}

Text = Annotated[str, BeforeValidator(_text)]
MaybeText = Annotated[str | None, BeforeValidator(_text)]
# Text of people, trimmed: `Prose` may have line breaks, a `Line` has none.
Prose = Annotated[Text, AfterValidator(trimmed)]
MaybeProse = Annotated[MaybeText, AfterValidator(trimmed)]
Line = Annotated[Text, AfterValidator(one_line)]
MaybeLine = Annotated[MaybeText, AfterValidator(one_line)]
Given = Annotated[str, BeforeValidator(_given)]
Sought = Annotated[Given, AfterValidator(lambda sought: sought[:LONGEST_QUERY])]
MaybeSought = Annotated[Text, AfterValidator(lambda sought: sought[:LONGEST_QUERY])]  # may be blank
Flag = Annotated[bool, BeforeValidator(_flag)]
MaybeFlag = Annotated[bool | None, BeforeValidator(_flag)]  # None: not given, which differs from false
Count = Annotated[int | None, BeforeValidator(_count)]
MaybeSeconds = Annotated[int | None, BeforeValidator(_seconds)]
Choice = BeforeValidator(_choice)  # for Annotated[Literal[...] | None, Choice]: an empty string is not given
Several = BeforeValidator(_several)  # for Annotated[list[X], Several]
SeveralForms = BeforeValidator(as_forms)  # for Annotated[tuple[SomeInput, ...], SeveralForms]
Texts = Annotated[tuple[Text, ...], Several]
MaybeTexts = Annotated[tuple[Text, ...] | None, Several]  # None: not given, which differs from none
Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers)]
Maybe = BeforeValidator(_maybe)  # for Annotated[SomeInput | None, Maybe]
Focus = Annotated[tuple[float, float] | None, BeforeValidator(_focus), WithJsonSchema({"type": "string"})]
Fields = Annotated[tuple[tuple[str, str], ...] | None, BeforeValidator(_fields), WithJsonSchema(LABELLED)]
MaybeUpload = Annotated[Upload | None, PlainValidator(_upload), WithJsonSchema({"type": "string", "format": "binary"})]

# The documented form of ids; more forms are accepted.
DIGITS = {"type": "string", "pattern": "^[0-9]{1,19}$"}

StatusId = Annotated[int | None, BeforeValidator(_optional_id), WithJsonSchema(DIGITS)]
AccountId = StatusId
ReportId = StatusId
Position = Annotated[int | None, BeforeValidator(_position), WithJsonSchema(DIGITS)]
Cursor = Annotated[int | None, BeforeValidator(_cursor), WithJsonSchema(DIGITS)]
LowerCursor = Annotated[int | None, BeforeValidator(_lower_cursor), WithJsonSchema(DIGITS)]
Ids = Annotated[tuple[int, ...], BeforeValidator(_ids), WithJsonSchema({"type": "array", "items": DIGITS})]
MaybeIds = Annotated[tuple[int, ...] | None, BeforeValidator(_ids), WithJsonSchema({"type": "array", "items": DIGITS})]
IdsAsWritten = Annotated[tuple[Text, ...], Several, WithJsonSchema({"type": "array", "items": DIGITS})]


class Domain(Input):
    """The parameter of endpoints that take a domain."""

    domain: Text = ""

    def name(self) -> str:
        """Return the domain as it is stored. Raises 422 if it is not valid."""
        if not self.domain.strip():
            raise invalid("Domain can't be blank")
        name = pasted_domain(self.domain)
        if name is None:
            raise invalid("Domain is not a valid domain name")
        return name
