"""SQL with named parameters.

In the source a parameter is `:name`; PostgreSQL gets `$1`, `$2` and so on. A statement is translated once, when its
module is imported, and not for each call: connections find their prepared statements by the text.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter

#: Not a cast, as in `'{}'::text[]`.
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")

Bound = tuple[str, *tuple[object, ...]]  # the text of a statement and its arguments

# Takes the values of a call from the record, and puts these and the given values in order.
Plan = tuple[Callable[[object], tuple[object, ...]], Callable[[tuple[object, ...]], Bound]]


class Statement:
    """A constant statement, and the order of its parameters."""

    def __init__(self, source: str) -> None:
        self.names = tuple(dict.fromkeys(PARAMETER.findall(source)))
        self._plans: dict[tuple[str, ...], Plan] = {}
        numbers = {name: f"${number}" for number, name in enumerate(self.names, 1)}
        self.text = PARAMETER.sub(lambda match: numbers[match[1]], source)

    def bind(self, record: object = None, /, **values: object) -> Bound:
        """Return the text and the arguments of a call: for each name the given value, or the record's attribute."""
        attributes, order = self._plans.get(given := tuple(values)) or self._plan(given)
        return order((self.text, *attributes(record), *values.values()))

    def bind_many(self, records: Sequence[object], /, **values: object) -> Bound:
        """Return them for many records: an attribute becomes an array with a value for each record."""
        self._check(values)
        arrays = (
            values[name] if name in values else [getattr(record, name) for record in records] for name in self.names
        )
        return self.text, *arrays

    def _plan(self, given: tuple[str, ...]) -> Plan:
        """Prepare the calls that give values for these names: a loop over the names would be several times slower."""
        self._check(given)
        attributes = [name for name in self.names if name not in given]
        # Two more, because a getter of a single attribute returns no tuple.
        places = {name: place for place, name in enumerate((*attributes, *given), 3)}
        plan = attrgetter("__class__", "__class__", *attributes), itemgetter(0, *map(places.__getitem__, self.names))
        self._plans[given] = plan
        return plan

    def _check(self, given: Iterable[str]) -> None:
        if unknown := {*given} - {*self.names}:
            raise TypeError(f"the statement has no parameters {', '.join(sorted(unknown))}: {self.text}")


def names_in(columns: str) -> list[str]:
    """Return the names in a list such as `id, title, "group"`."""
    return [name.strip().strip('"') for name in columns.split(",")]


def insert_into(table: str, columns: str, **expressions: str) -> str:
    """Return an INSERT that takes each column from the parameter of its name, unless it has an expression."""
    values = {name: f":{name}" for name in names_in(columns)} | expressions
    return f"INSERT INTO {table} ({quoted(values)}) VALUES ({', '.join(values.values())})"


def insert_from(table: str, columns: str, **expressions: str) -> str:
    """Return the INSERT with a SELECT in place of VALUES, which may have a condition: `INSERT … SELECT … WHERE …`."""
    values = {name: f":{name}" for name in names_in(columns)} | expressions
    return f"INSERT INTO {table} ({quoted(values)}) SELECT {', '.join(values.values())}"


def assigned(columns: str) -> str:
    """Return the SET list of an UPDATE that takes each column from the parameter of its name."""
    return ", ".join(f"{name} = :{name}" for name in names_in(columns))


def rows_of(types: dict[str, str], alias: str) -> str:
    """Return a table for FROM with a row for each record of `bind_many`, made of an array for each column."""
    arrays = ", ".join(f":{name}::{type}[]" for name, type in types.items())
    return f"unnest({arrays}) AS {alias} ({quoted(types)})"


def quoted(names: Iterable[str]) -> str:
    """Return a list of columns. Quotes let a column have the name of a keyword, such as `group`."""
    return ", ".join(f'"{name}"' for name in names)
