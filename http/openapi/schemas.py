"""The API's objects as JSON Schemas, read from a table: `entities.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ...storage.engine.json_values import JsonObject

TABLE = Path(__file__).with_name("entities.txt")

# A JSON Schema may have any members, at any depth. The tests check the schemas with a validator.
Schema = JsonObject

DIGITS = "^[0-9]+$"
NULL: Schema = {"type": "null"}
TYPES: dict[str, Schema] = {
    "null": NULL,
    "id": {"type": "string", "pattern": "^[0-9]{1,19}$"},
    "numstr": {"type": "string", "pattern": DIGITS},
    "unixstr": {"type": "string", "pattern": DIGITS},
    "unixtime": {"type": "integer", "minimum": 0},
    "datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,3}Z$"},
    "date": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
    "lang": {"type": "string", "pattern": "^[a-z]{2,3}(-[A-Za-z0-9]+)*$"},
    "url": {"type": "string", "pattern": "^https?://."},
    "socket": {"type": "string", "pattern": "^wss?://."},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "string": {"type": "string"},
    "html": {"type": "string", "contentMediaType": "text/html"},
    "text": {"type": "string"},
    "email": {"type": "string"},
    "blurhash": {"type": "string"},
    "ip": {"type": "string"},
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}


@dataclass(frozen=True, slots=True)
class ObjectMember:
    """A row of the table, with its nested rows."""

    name: str
    optional: bool
    notation: str
    members: list[ObjectMember] = field(default_factory=list["ObjectMember"])

    def schema(self) -> Schema:
        return schema_of(self.notation, _object(self.members) if self.members else TYPES["object"])


@cache
def entities() -> dict[str, Schema]:
    """Return every object of the API by its name."""
    found: dict[str, list[ObjectMember]] = {}
    for name, parent, members in _blocks(_table()):
        found[name] = [*found.get(parent, ()), *members]
    return {name: _object(members) for name, members in found.items()}


def schema_of(notation: str, inner: Schema = TYPES["object"]) -> Schema:
    """Return the schema of a type. `inner` is the schema of `object` in the type."""
    if notation.endswith("?"):
        return {"anyOf": [schema_of(notation[:-1], inner), NULL]}
    if notation.startswith("["):
        return {"type": "array", "items": schema_of(notation[1:-1], inner)}
    if notation == "{}":
        return {"type": "object", "maxProperties": 0}
    if notation.startswith("{"):
        return {"type": "object", "additionalProperties": schema_of(notation[1:-1], inner)}
    if notation == "object":
        return inner
    return TYPES.get(notation) or _named(notation.split("|"))


def _named(names: list[str]) -> Schema:
    """Return a reference to objects, whose names are capitalized, or an enumeration of texts."""
    if not names[0][0].isupper():
        return {"type": "string", "enum": names}
    schemas = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _object(members: list[ObjectMember]) -> Schema:
    return {
        "type": "object",
        "properties": {member.name: member.schema() for member in members},
        "required": [member.name for member in members if not member.optional],
        "additionalProperties": False,
    }


def _table() -> str:
    lines = TABLE.read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")).strip()


def _blocks(text: str) -> Iterator[tuple[str, str, list[ObjectMember]]]:
    """Yield each object's name, the name of the object that it extends, and its own members."""
    for block in text.split("\n\n"):
        head, *rows = block.splitlines()
        name, _, parent = head.partition(" < ")
        levels: list[list[ObjectMember]] = [[]]
        for row in rows:
            written, notation = row.split()
            member = ObjectMember(written.removesuffix("?"), written.endswith("?"), notation)
            del levels[(len(row) - len(row.lstrip())) // 2 :]
            levels[-1].append(member)
            levels.append(member.members)
        yield name, parent, levels[0]
