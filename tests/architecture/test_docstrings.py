"""Docstrings begin with what the thing is or does: "Return …", "The …", "True if …", "Raised when …"."""

import ast
from collections.abc import Iterator

from .imports import MODULES, ROOT

#: A question or a relation in the place of a noun or a verb.
NO_BEGINNINGS = {
    *("what", "who", "whom", "whose", "which", "whether", "where", "when", "how", "why", "whoever", "whatever"),
    *("nobody", "somebody", "those", "around", "as", "so", "if", "else"),
}

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def misleading(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names of modules, classes and functions with another beginning, and the first lines of their docstrings."""
    text = ast.get_docstring(node) if isinstance(node, Documented) else None
    if text and text.split()[0].rstrip(".,:;").lower() in NO_BEGINNINGS:
        yield getattr(node, "name", "module"), text.splitlines()[0]
    for child in ast.iter_child_nodes(node):
        # Expressions have no docstrings, and are most of the nodes.
        if isinstance(child, ast.stmt):
            yield from misleading(child)


def test_docstrings_begin_with_what_the_thing_is_or_does() -> None:
    found = {path.relative_to(ROOT).as_posix(): [*misleading(ast.parse(path.read_text("utf-8")))] for path in MODULES}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_a_question_at_the_beginning_is_found() -> None:
    source = '"""A module."""\nclass One:\n    """Who: asks."""\n    def two(self):\n        """Return it."""\n'
    assert [*misleading(ast.parse(source))] == [("One", "Who: asks.")]
