"""Messages, answers and other frozen values as bytes, and back.

The bytes are MessagePack: a name, and the fields by their names. A reader ignores fields that it does not know and
gives missing fields their defaults, so that two versions of the server can read each other. A row has the same fields
as values of JSON, for columns of type jsonb.

msgspec writes and reads dataclasses by their annotations. It can't read classes that are not dataclasses, nor a field
whose value may be of several dataclasses, whose bytes look alike. A class of either kind is registered with a `Shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from types import UnionType
from typing import Any, Generic, TypedDict, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.msgpack import Decoder, Encoder

from ...storage.engine.json_values import JsonObject
from .errors import Refused
from .message import Command, Message, R, SystemCommand, SystemMessage

T = TypeVar("T")


class Unreadable(ValueError):
    """Raised for bytes or a row of which the expected class can't be made."""


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """The substitute that is written for an instance: a dict of this type. msgspec checks it before `read` gets it."""

    type: Any  # a type for msgspec: `JsonObject` or a TypedDict
    write: Callable[[T], Mapping[str, Any]]
    read: Callable[[Any], T]


class Codec:
    """Classes by their names. Iterating over it yields the pairs of names and classes."""

    def __init__(self) -> None:
        self._by_name: dict[str, Form] = {}
        self._by_class: dict[type, Form] = {}
        self._answers: dict[type, AnswerForm] = {}
        self.add(Refused, shape=REFUSAL)

    def __iter__(self) -> Iterator[tuple[str, type]]:
        return iter([(name, form.kind) for name, form in self._by_name.items()])

    def add(self, kind: type[T], *, name: str | None = None, shape: Shape[T] | None = None) -> None:
        """Register a class, by its own name unless another is given. Other versions of the server know the name."""
        name = name or kind.__name__
        known = self._by_name.get(name)
        if known is not None and known.kind is not kind:
            raise TypeError(f"{known.kind.__module__} and {kind.__module__} have a class with the name {name}")
        self._by_name[name] = self._by_class[kind] = known or Form(name, kind, shape)

    def add_message(
        self, message: type[Message[Any]], shape: Shape[Any] | None = None, answer_shape: Shape[Any] | None = None
    ) -> None:
        """Register a message, and the classes of its answers."""
        self.add(message, shape=shape)
        answer = answer_of(message)
        members = get_args(answer) if get_origin(answer) in (Union, UnionType) else (answer,)
        records = [member for member in members if isinstance(member, type) and is_dataclass(member)]
        if answer_shape is not None:
            self.add(records[0], shape=answer_shape)
            self._answers[message] = AnswerForm(None, frozenset({Refused, records[0]}))
            return
        if len(records) < 2:
            self._answers[message] = AnswerForm(answer, frozenset({Refused}))
            return
        if len(records) < len(members):
            raise TypeError(f"{message.__name__} is answered with several dataclasses and with something else")
        for record in records:
            self.add(record)
        self._answers[message] = AnswerForm(None, frozenset({Refused, *records}))

    def encode(self, value: object) -> bytes:
        """Write an instance of a registered class."""
        return self._by_class[type(value)].encode(value)

    def decode(self, data: bytes) -> object:
        """Read an instance of a registered class. Raises Unreadable."""
        name, body = _read(HEAD, data)
        return self._form(name).decode(body)

    def decode_message(self, data: bytes) -> Message[object]:
        """Read a message. Raises Unreadable."""
        name, body = _read(HEAD, data)
        form = self._form(name)
        if not issubclass(form.kind, Message):
            raise Unreadable(f"{name} is no message")
        message: Any = form.decode(body)  # an instance of the form's class
        return message

    def encode_answer(self, message: type[Message[R]], answer: R | Refused) -> bytes:
        """Write an answer or a refusal. An answer has a name only if its class does not follow from the message's."""
        if type(answer) in self._answers[message].named:
            return self.encode(answer)
        return ENCODER.encode((None, answer))

    def decode_answer(self, message: type[Message[R]], data: bytes) -> R | Refused:
        """Read an answer or a refusal. Raises Unreadable."""
        name, body = _read(HEAD, data)
        answers = self._answers[message]
        if name is None:
            return _read(answers.decoder, body)
        form = self._form(name)
        if form.kind not in answers.named:
            raise Unreadable(f"{message.__name__} is not answered with {name}")
        answer: Any = form.decode(body)  # an instance of a class that the message names
        return answer

    def _form(self, name: str | None) -> Form:
        form = self._by_name.get(name or "")
        if form is None:
            raise Unreadable(f"no class has the name {name}")
        return form


class Form:
    """The functions that write and read instances of one class."""

    def __init__(self, name: str, kind: type, shape: Shape[Any] | None) -> None:
        self.kind = kind
        self._name = name
        self._shape = shape

    def encode(self, value: object) -> bytes:
        return ENCODER.encode((self._name, value if self._shape is None else self._shape.write(value)))

    def decode(self, body: msgspec.Raw) -> object:
        found = _read(self._decoder, body)
        return found if self._shape is None else self._shape.read(found)

    # Made when it is needed: this takes longer than registering, and a process reads few of the classes.
    @cached_property
    def _decoder(self) -> Decoder[Any]:
        return Decoder(self.kind if self._shape is None else self._shape.type)


class AnswerForm:
    """The form of answers to one class of messages: classes in `named` are written by name, others by `kind`."""

    def __init__(self, kind: Any, named: frozenset[type]) -> None:
        self.named = named
        self._kind = kind

    @cached_property
    def decoder(self) -> Decoder[Any]:
        return Decoder(self._kind)


def answer_of(message: type[Message[Any]]) -> Any:
    """Return the type of the answers to a message: `list[int]` for `class HomePage(Message[list[int]])`."""
    for base in message.__mro__:
        for parent in vars(base).get("__orig_bases__", ()):
            if get_origin(parent) in (Message, SystemMessage, Command, SystemCommand):
                return get_args(parent)[0]
    raise TypeError(f"{message.__name__} does not name its answer")


def to_row(value: object) -> JsonObject:
    """Return the fields of a dataclass as values of JSON."""
    row: JsonObject = msgspec.to_builtins(value, str_keys=True)
    return row


def of_row(kind: type[T], row: Mapping[str, object]) -> T:
    """Return the dataclass that a row was made from. Keys of other versions are ignored. Raises Unreadable."""
    try:
        return msgspec.convert(row, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise Unreadable(f"{kind.__name__}: {error}") from error


def _read(decoder: Decoder[T], data: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error


class RefusalFields(TypedDict):
    """The fields that are written for a refusal: exceptions are no dataclasses."""

    status: int
    text: str
    details: JsonObject | None


def _refusal_fields(refusal: Refused) -> RefusalFields:
    details = None if refusal.details is None else dict(refusal.details)
    return RefusalFields(status=refusal.status, text=refusal.text, details=details)


def _refusal(fields: RefusalFields) -> Refused:
    return Refused(fields["status"], fields["text"], fields["details"])


REFUSAL = Shape(RefusalFields, _refusal_fields, _refusal)
ENCODER = Encoder()
HEAD: Decoder[tuple[str | None, msgspec.Raw]] = Decoder(tuple[str | None, msgspec.Raw])
