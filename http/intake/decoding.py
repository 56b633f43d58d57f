"""Decoding: query strings, urlencoded forms and JSON bodies become one tree of values.

Flat pairs such as `a[b]=1` are nested in the notation of the API's clients: `a[]=1`, `a[b]=1`, `a[0][b]=1` and
`a[][b]=1`. In `a[][b]=1`, a repeated key begins a new element of `a`. A value may be a file.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import IO, TypeAlias

import orjson

from ..answers.errors import Malformed

# More parameters than any ordinary client sends. They are refused before they are decoded.
MOST_PARAMETERS = 1000
# Charsets that Java's HTTP clients declare for parts of forms. Browsers read all of them as windows-1252.
WESTERN = frozenset({"iso-8859-1", "latin1", "us-ascii", "windows-1252"})
# A run of escapes, which is decoded at once: a text in another script consists of escapes.
ESCAPED = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
# Matches a JSON body with too many values: it counts commas and brackets outside of texts. `_check` refuses such bodies
# too, but to make hundreds of thousands of lists would block the loop.
CROWDED = re.compile(
    rb'(?:[^",\[{]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^",\[{]*+)*+[,\[{]){%d}' % (2 * MOST_PARAMETERS + 1), re.DOTALL
)
DEEPEST = 8
LONGEST_NAME = 256
BRACKETS = re.compile(r"\[([^\[\]]*)\]")


class Upload:
    """A file part of a multipart body, spooled to disk when it is large."""

    __slots__ = ("content_type", "file", "filename", "size")

    def __init__(self, filename: str, content_type: str, file: IO[bytes], size: int) -> None:
        self.filename = filename
        self.content_type = content_type
        self.file = file
        self.size = size


Pairs = list[tuple[str, str | Upload]]
# A value of a form or of JSON.
Value: TypeAlias = "str | int | float | Upload | list[Value] | dict[str, Value] | None"
Tree = dict[str, Value]


def read_urlencoded(raw: bytes) -> Pairs:
    """Return the pairs of a query string or an urlencoded body."""
    parts = [part for part in raw.split(b"&") if part]
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
    """Return the bytes of escapes. `urllib` is not used: it needs most of a second for a megabyte of percent signs."""
    return bytes.fromhex(escaped[0].replace(b"%", b"").decode())


def text(raw: bytes, charset: str = "") -> str:
    """Return the bytes of a client as text. Raises Malformed for bytes that PostgreSQL could not store.

    A declared charset counts only if the bytes are not UTF-8: most clients that declare another charset send UTF-8.
    """
    try:
        decoded = raw.decode("cp1252" if charset.lower() in WESTERN and not _is_utf8(raw) else "utf-8")
    except UnicodeDecodeError:
        raise Malformed("Parameters must be valid UTF-8") from None
    if "\0" in decoded:
        raise Malformed("Parameters must not contain NUL")
    return decoded


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def read_untyped(raw: bytes) -> Tree:
    """Return the parameters of a body without a type: JSON if it begins as an object, else a form, as Rack reads it."""
    return read_json(raw) if _begins_object(raw) else nest(read_urlencoded(raw))


def _begins_object(raw: bytes) -> bool:
    return raw.removeprefix(BOM_UTF8).lstrip().startswith(b"{")


def read_json(raw: bytes) -> Tree:
    """Return the object of a JSON body; an empty object for an empty body, null, false, `""` and PHP's `[]`."""
    raw = raw.removeprefix(BOM_UTF8).strip()
    if not raw:
        return {}
    value = _value_of(raw)
    if value is False or value in (None, "", []):
        return {}
    if not isinstance(value, dict):
        raise Malformed("The request body must be a JSON object")
    _check(value)
    return _nested(value) if any("[" in name for name in value) else value


def read_form(raw: bytes) -> Tree:
    """Return the parameters of a form. It may be the object of a JSON body, which `curl -d` sends as a form."""
    return read_plain(raw) or nest(read_urlencoded(raw))


def read_plain(raw: bytes) -> Tree:
    """Return the object of a JSON body that came as plain text, as `fetch` sends texts; nothing for another text."""
    if not _begins_object(raw):
        return {}
    try:
        return read_json(raw)
    except Malformed:
        return {}


def written_in(value: Value) -> Value:
    """Return the list or the object that a text has as JSON, as some libraries send them in forms; else the value."""
    return _written(value)[0]


def forms_in(entries: Iterable[Value]) -> list[Tree]:
    """Return the forms among values, each of which may be JSON in a text. Other values are ignored.

    Raises Malformed if all texts together have more values than a body may have.
    """
    forms: list[Tree] = []
    count = 0
    for entry in entries:
        form, inside = _written(entry)
        count += inside
        if count > MOST_PARAMETERS:
            raise Malformed("Too many parameters")
        if isinstance(form, dict):
            forms.append(form)
    return forms


def _written(value: Value) -> tuple[Value, int]:
    """Return the list or the object in a text and the number of its values; for any other value that value, and 0."""
    if not isinstance(value, str) or not value.startswith(("[", "{")):
        return value, 0
    try:
        found = _value_of(value.encode())
        return found, _check(found)
    except Malformed:
        return value, 0


def _value_of(raw: bytes) -> Value:
    if len(raw) > MOST_PARAMETERS and CROWDED.match(raw):
        raise Malformed("Too many parameters")
    try:
        # orjson refuses lone surrogates and bad UTF-8 by itself.
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Malformed("The request body is not valid JSON") from None


def _nested(tree: Tree) -> Tree:
    """Return an object whose names may be those of a form, such as `media_ids[]`. Names without brackets come first."""
    nested = {name: value for name, value in tree.items() if "[" not in name}
    plain = set(nested)
    for name, value in tree.items():
        if "[" in name and (steps := _steps(name))[0] not in plain:
            is_whole_list = isinstance(value, list) and len(steps) > 1 and steps[-1] == ""
            _place(nested, steps[:-1] if is_whole_list else steps, value)
    return nested


def _check(root: Value) -> int:
    """Return the number of values. Raises Malformed for too many, for deep nesting, and for a NUL."""
    level: list[Value] = [root]
    count = 0
    for _ in range(DEEPEST + 1):
        count += len(level)
        if count > MOST_PARAMETERS:
            raise Malformed("Too many parameters")
        below: list[Value] = []
        for value in level:
            below.extend(_inside(value))
        if not below:
            return count
        level = below
    raise Malformed("Parameters are nested too deeply")


def _inside(value: Value) -> Iterable[Value]:
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


def nest(pairs: Pairs) -> Tree:
    """Return a nested dict of flat pairs."""
    tree: Tree = {}
    for name, value in pairs:
        if "[" not in name:
            tree[name] = value
        else:
            _place(tree, _steps(name), value)
    return tree


def _steps(name: str) -> list[str]:
    """Return the steps of a name: for `a[b][]`, `a`, `b`, and an empty step, which means a new element."""
    if len(name) > LONGEST_NAME:
        raise Malformed("A parameter name is too long")
    head, _, rest = name.partition("[")
    steps = [head, *BRACKETS.findall(f"[{rest}")]
    if len(steps) > DEEPEST:
        raise Malformed("Parameters are nested too deeply")
    return steps


def _place(tree: Tree, steps: list[str], value: Value) -> None:
    name, rest = steps[0], steps[1:]
    if not rest:
        tree[name] = value
    elif rest[0] == "":
        elements = _list_at(tree, name)
        if len(rest) == 1:
            elements.append(value)
        else:
            _place(_element(elements, rest[1:]), rest[1:], value)
    else:
        _place(_dict_at(tree, name), rest, value)


def _list_at(tree: Tree, name: str) -> list[Value]:
    found = tree.setdefault(name, [])
    if not isinstance(found, list):
        raise Malformed(f"Parameter {name} is given in two shapes")
    return found


def _dict_at(tree: Tree, name: str) -> Tree:
    found = tree.setdefault(name, {})
    if not isinstance(found, dict):
        raise Malformed(f"Parameter {name} is given in two shapes")
    return found


def _element(elements: list[Value], steps: list[str]) -> Tree:
    """Return the last element, or a new element if the last has a value at these steps."""
    last = elements[-1] if elements else None
    if isinstance(last, dict) and not _holds(last, steps):
        return last
    new: Tree = {}
    elements.append(new)
    return new


def _holds(tree: Tree, steps: list[str]) -> bool:
    here: Value = tree
    for step in steps:
        if step == "":
            return False  # a[][b][]=2 appends to the b of a[][b][]=1
        if not isinstance(here, dict) or step not in here:
            return False
        here = here[step]
    return True
