"""SQL whose parameters have names.

In the source a parameter is `:name`; PostgreSQL gets `$1`, `$2` and so on. A statement is translated once, when its
module is imported, and not for each call: a connection finds what it has prepared by the text.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

#: Not a cast, as in `'{}'::text[]`.
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")


class Statement:
    """A constant statement, and the order of its parameters."""

    def __init__(self, source: str) -> None:
        self.names = tuple(dict.fromkeys(PARAMETER.findall(source)))
        self._known = frozenset(self.names)
        numbers = {name: f"${number}" for number, name in enumerate(self.names, 1)}
        self.text = PARAMETER.sub(lambda match: numbers[match[1]], source)

    def bind(self, record: object = None, /, **values: object) -> tuple[Any, ...]:
        """Return the text and the arguments of one call: of each name the value, or else the record's attribute."""
        self._check(values)
        return self.text, *[values[name] if name in values else getattr(record, name) for name in self.names]

    def bind_many(self, records: Sequence[object], /, **values: object) -> tuple[Any, ...]:
        """The same for many records: an attribute becomes the array of what they have."""
        self._check(values)
        arrays = (
            values[name] if name in values else [getattr(record, name) for record in records] for name in self.names
        )
        return self.text, *arrays

    def _check(self, values: dict[str, object]) -> None:
        if unknown := values.keys() - self._known:
            raise TypeError(f"the statement has no parameters {', '.join(sorted(unknown))}: {self.text}")


def names_in(columns: str) -> list[str]:
    """Return the names in a list such as `id, title, "group"`."""
    return [name.strip().strip('"') for name in columns.split(",")]


def insert_into(table: str, columns: str, **expressions: str) -> str:
    """Return an INSERT that takes each column from the parameter of its name, where it has no expression."""
    values = {name: f":{name}" for name in names_in(columns)} | expressions
    return f"INSERT INTO {table} ({quoted(values)}) VALUES ({', '.join(values.values())})"


def assigned(columns: str) -> str:
    """Return what an UPDATE sets when each column takes the parameter of its name."""
    return ", ".join(f"{name} = :{name}" for name in names_in(columns))


def rows_of(types: dict[str, str], alias: str) -> str:
    """Return a table for FROM with a row for each record of `bind_many`, out of one array for each column."""
    arrays = ", ".join(f":{name}::{type}[]" for name, type in types.items())
    return f"unnest({arrays}) AS {alias} ({quoted(types)})"


def quoted(names: Iterable[str]) -> str:
    """Return a list of columns. Quotes let a column have the name of a keyword, such as `group`."""
    return ", ".join(f'"{name}"' for name in names)
