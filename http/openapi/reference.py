"""The OpenAPI document for the page at `/api`: endpoints by their nouns, and the objects in their answers.

The page is made only from the document, so it can't differ from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .schemas import NULL, TYPES, Schema

METHODS = ("get", "post", "put", "patch", "delete")  # in the order in which a path's endpoints are shown
ERROR = "Error"  # the object of every refusal
LIST_MARK = "[]"
STAFF = "staff-"  # before a noun
FOR_STAFF = ("/api/v1/admin/", "/api/v2/admin/")
# The types of `entities.txt`, in words. Of types with equal schemas the first counts.
WORDS = {
    "null": "null", "id": "id", "numstr": "digits", "unixtime": "seconds since 1970", "datetime": "time",
    "date": "date", "lang": "language", "url": "URL", "socket": "WebSocket URL", "int": "integer", "float": "number",
    "bool": "boolean", "object": "object", "string": "text", "html": "HTML", "sha256": "SHA-256",
}  # fmt: skip
FORMATS = {"binary": "file", "date-time": "time", "date": "date"}


@dataclass(frozen=True, slots=True)
class KindPart:
    """A part of a type: a text, or the name of an object in the document."""

    text: str
    is_name: bool = False


# A type in words: `list of `, `Status`.
Kind = tuple[KindPart, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of an endpoint, or a member of an object."""

    name: str
    kind: Kind
    required: bool
    place: str = ""  # of a parameter: path, query or body


@dataclass(frozen=True, slots=True)
class Operation:
    """An endpoint."""

    id: str
    method: str
    path: str
    summary: str
    token: str  # in words: if a request needs a token
    scopes: tuple[str, ...]  # alternatives: the token needs any of them
    parameters: tuple[Field, ...]
    answer: Kind


@dataclass(frozen=True, slots=True)
class Noun:
    """The endpoints of a noun. Endpoints for staff have nouns of their own."""

    id: str
    name: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """An object in answers. Members of nested objects have their paths as names."""

    name: str
    members: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The content of the page."""

    nouns: tuple[Noun, ...]
    entities: tuple[Entity, ...]

    @property
    def count(self) -> int:
        return sum(len(noun.operations) for noun in self.nouns)


def reference(document: Schema) -> Reference:
    """Return the endpoints and objects of an OpenAPI document."""
    schemas: Schema = document["components"]["schemas"]
    found: dict[tuple[str, str], list[Operation]] = {}
    for path, methods in sorted(document["paths"].items()):
        for method in sorted(methods, key=METHODS.index):
            whose = STAFF if path.startswith(FOR_STAFF) else ""
            noun = (whose, methods[method]["tags"][0])
            found.setdefault(noun, []).append(_operation(method, path, methods[method], schemas))
    nouns = [
        Noun(f"{whose}{tag}", f"{whose}{tag}".replace("_", " ").replace("-", ": "), (*operations,))
        for (whose, tag), operations in sorted(found.items())
    ]
    return Reference((*nouns,), (*sorted(_entities(nouns, schemas), key=lambda entity: entity.name),))


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> Operation:
    (content,) = operation["responses"]["200"]["content"].values()
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        token=_token(operation["security"]),
        scopes=tuple(scope for access in operation["security"] for names in access.values() for scope in names),
        parameters=(*_parameters(operation, schemas),),
        answer=_kind(content["schema"]),
    )


def _token(security: list[dict[str, list[str]]]) -> str:
    if security == [{}]:
        return "no token"
    return "no token, or a token" if {} in security else "a token"


def _parameters(operation: Schema, schemas: Schema) -> Iterator[Field]:
    for given in operation["parameters"]:
        name = given["name"].removesuffix(LIST_MARK)
        yield from _sent(name, given["schema"], given["required"], given["in"], schemas)
    if body := operation.get("requestBody"):
        sent = schemas[_name_of(next(iter(body["content"].values()))["schema"])]
        for name, schema in sent.get("properties", {}).items():
            yield from _sent(name, schema, name in sent.get("required", ()), "body", schemas)


def _sent(name: str, schema: Schema, required: bool, place: str, schemas: Schema) -> Iterator[Field]:
    """Yield a parameter, or its nested parameters in the notation of forms: `fields_attributes[][name]`.

    Null is left out, because it means no parameter.
    """
    bare = next((choice for choice in schema.get("anyOf", ()) if choice != NULL), schema)
    if bare.get("type") == "array":
        bare, name = bare["items"], name + LIST_MARK
    if "$ref" not in bare:
        yield Field(name, _kind(bare), required, place)
        return
    inner = schemas[_name_of(bare)]
    for member, its in inner.get("properties", {}).items():
        yield from _sent(f"{name}[{member}]", its, required and member in inner.get("required", ()), place, schemas)


def _members(schema: Schema, around: str) -> Iterator[Field]:
    for name, member in schema.get("properties", {}).items():
        yield Field(around + name, _kind(member), name in schema["required"])
        yield from _members(_inner(member), f"{around}{name}.")


def _inner(schema: Schema) -> Schema:
    """Return the nested object of a member: the member itself, or its object in a list or beside null."""
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if "properties" in part:
            return part
        if "properties" in part.get("items", {}):
            return part["items"]
    return {}


def _kind(schema: Schema) -> Kind:
    for name, words in WORDS.items():
        if schema == TYPES[name]:
            return (KindPart(words),)
    match schema:
        case {"$ref": str()}:
            return (KindPart(_name_of(schema), is_name=True),)
        case {"anyOf": [first, *others]}:
            return (*_kind(first), *(part for other in others for part in (KindPart(" or "), *_kind(other))))
        case {"enum": values}:
            return (KindPart(f"one of {', '.join(map(str, values))}"),)
        case {"const": value}:
            return (KindPart(str(value)),)
        case {"type": "array", "items": items}:
            return (KindPart("list of "), *_kind(items))
        case {"type": "object", "additionalProperties": dict()}:
            return (KindPart("object with values of "), *_kind(schema["additionalProperties"]))
        case {"type": "object", "maxProperties": 0}:
            return (KindPart("empty object"),)
        case {"format": str()}:
            return (KindPart(FORMATS[schema["format"]]),)
        case _:
            name: str = schema["type"]
            return (KindPart(WORDS.get(name, name)),)


def _name_of(schema: Schema) -> str:
    return schema["$ref"].rpartition("/")[2]


def _entities(nouns: Iterable[Noun], schemas: Schema) -> Iterator[Entity]:
    """Yield the objects in answers, and their nested objects."""
    ahead = [ERROR, *(name for noun in nouns for operation in noun.operations for name in _names(operation.answer))]
    found: set[str] = set()
    while ahead:
        if (name := ahead.pop()) not in found:
            found.add(name)
            entity = Entity(name, (*_members(schemas[name], ""),))
            ahead += [inner for member in entity.members for inner in _names(member.kind)]
            yield entity


def _names(kind: Kind) -> list[str]:
    return [part.text for part in kind if part.is_name]
