"""Who changes rows: each transaction is one of a shard's owner, or stands in `writers.txt` with its reason."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .imports import MODULES, ROOT

LIST = Path(__file__).with_name("writers.txt")

#: The methods of a database that begin a transaction.
TRANSACTIONS = {"transact", "transact_alone", "transact_checked", "transact_in"}

# The owner's transactions, databases that hand a call on to another database, and the command line.
OWNERS = {"actors/account.py", "actors/timelines/list.py"}
NOT_LISTED = ("storage/engine/", "supervision/children/database.py", "supervision/commands/", "supervision/testing/",
              "supervision/traces/")  # fmt: skip

Writer = tuple[str, str, str]  # the file, the function that begins the transaction, and the work in it

CHANGES_ROWS = re.compile(r"\b(INSERT INTO|UPDATE \w+ (\w+ )?SET|DELETE FROM)\b")


def listed() -> dict[Writer, str]:
    rows = [line.split() for line in LIST.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {(path, function, work): kind for kind, path, function, work in rows}


def transactions() -> Iterator[tuple[Writer, str]]:
    """Yield each place that begins a transaction, with the object that is asked for it."""
    for module in MODULES:
        source = module.read_text("utf-8")
        path = str(module.relative_to(ROOT))
        if "transact" in source and not path.startswith(NOT_LISTED):
            yield from (((path, function, work), asked) for function, asked, work in _begun(ast.parse(source), ()))


def _begun(node: ast.AST, within: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr in TRANSACTIONS:
            yield ".".join(within), ast.unparse(child.func.value), ast.unparse(child.args[0])
        names = (child.name,) if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ()
        yield from _begun(child, within + names)


def test_each_transaction_is_the_owners_or_has_its_writer_in_the_list() -> None:
    by_owner = {"account", "timeline", "self"}
    found = {writer for writer, asked in transactions() if asked not in by_owner and writer[0] not in OWNERS}
    assert found == set(listed()), "a transaction that no shard's owner runs needs its line and kind in writers.txt"


def test_each_kind_of_writer_has_its_reason() -> None:
    head = LIST.read_text("utf-8").split("\n\n")[0]
    reasons = set(re.findall(r"^#   (\w+)  ", head, re.MULTILINE))
    assert set(listed().values()) == reasons


@pytest.mark.parametrize("path", sorted(OWNERS))
def test_owners_enter_their_shard(path: str) -> None:
    """An actor that writes its own rows begins no transaction that does not compare the epoch."""
    calls = re.findall(r"database\.(transact\w*)", (ROOT / path).read_text("utf-8"))
    assert "transact" not in calls
    assert "transact_in" in calls


def test_reads_change_no_rows() -> None:
    """`Database.read` begins no transaction and enters no shard: the functions that it runs only read."""
    statements = {module: _statements(module) for module in MODULES if module.is_relative_to(ROOT / "storage")}
    functions = {
        (module.stem, function): names
        for module, texts in statements.items()
        for function, names in _functions(module, {name for name, text in texts.items() if CHANGES_ROWS.search(text)})
    }
    read = {
        (call.args[0].value.id, call.args[0].attr)
        for module in MODULES
        if ".read(" in (source := module.read_text("utf-8"))
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "read"
        and call.args
        and isinstance(call.args[0], ast.Attribute)
        and isinstance(call.args[0].value, ast.Name)
    }
    assert len(read) > 150
    assert {called: names for called in read if (names := functions.get(called))} == {}


def _statements(module: Path) -> dict[str, str]:
    """The constants of a module with their source: statements are constants."""
    return {
        target.id: ast.unparse(node.value)
        for node in ast.parse(module.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _functions(module: Path, changing: set[str]) -> Iterator[tuple[str, set[str]]]:
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.AsyncFunctionDef):
            yield node.name, {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} & changing


# Facts that a relay publishes from rows, which it deletes afterwards; and those of an actor that has restarted.
FROM_ROWS = {"actors/account.py", "actors/effects/previews.py", "actors/effects/registry.py"}


def test_the_facts_of_a_transaction_outside_of_turns_are_published_in_a_context() -> None:
    """If they are not published, this node must not say farewell to the other nodes (`Facts.publishing`)."""
    outside = {
        path
        for module in MODULES
        if "facts.apply(" in (source := module.read_text("utf-8"))
        and not (path := str(module.relative_to(ROOT))).startswith("supervision/testing/")
        and any(not _commits(context) for context in _contexts_of_facts(ast.parse(source), None))
    }
    assert outside == FROM_ROWS


def _contexts_of_facts(node: ast.AST, context: ast.With | None) -> Iterator[ast.With | None]:
    """Yield the context `publishing` around each call of `facts.apply`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("facts.apply"):
            yield context
        publishes = isinstance(child, ast.With) and "facts.publishing(" in ast.unparse(child.items[0])
        yield from _contexts_of_facts(child, child if isinstance(child, ast.With) and publishes else context)


def _commits(context: ast.With | None) -> bool:
    return context is not None and ".transact(" in ast.unparse(context)
