"""Every check of a password passes the one function that counts failures."""

import ast
from pathlib import Path

HTTP = Path(__file__).parents[2] / "http"


def test_only_the_function_that_counts_failures_checks_passwords() -> None:
    callers = [
        str(path.relative_to(HTTP))
        for path in sorted(HTTP.rglob("*.py"))
        if "passwords" in (source := path.read_text("utf-8"))  # parsing takes much longer
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr == "matches" and ast.unparse(node.value) == "passwords"
    ]
    # The function in a thread, and its one caller.
    assert callers == ["oauth/passwords.py", "oauth/users.py"]
