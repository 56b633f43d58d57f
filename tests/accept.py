"""Golden files: lists in the repository that are made from the code. `make accept` rewrites them.

A person reads the diff instead of typing the list: it shows what a change means for rate limits, for the command line
or for other versions of the server. `tests/architecture/test_accepted.py` fails while a file differs. All lists are
sorted, so that two branches seldom change the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from troupe.actors.codec import CODEC
from troupe.http.access import rates
from troupe.http.router import Endpoint, all_endpoints

from .architecture.imports import MODULES, ROOT
from .architecture.picture import PICTURE, picture
from .architecture.tables import TABLES, with_table
from .commands import COMMANDS
from .supervision.log_records import FORMS, written
from .supervision.log_records import GOLDEN as LOG

ADVICE = "run `make accept` and read the diff"


@dataclass(frozen=True)
class Golden:
    """A file, and the function that returns its new text from the text that it has."""

    path: Path
    renew: Callable[[str], str]

    def accept(self) -> bool:
        """Rewrite the file. Return True if it has changed."""
        old = self.path.read_text("utf-8")
        new = self.renew(old)
        self.path.write_text(new, "utf-8")
        return new != old


def shape(path: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"<[^>]*>", "<>", path)


def counting_rules() -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield method and path of each route with the names of the rules that count its requests."""
    for endpoint in all_endpoints():
        general = "api" if rates.is_api(endpoint.path) else rates.rule_of(endpoint.path).name
        own = [rule.name for rule in endpoint.rates] + [f"a file: {rule.name}" for rule in endpoint.file_rates]
        yield (endpoint.method, shape(endpoint.path)), [general, *own]
    yield ("GET", "/api/v1/streaming/<>"), ["streams"]
    yield ("WEBSOCKET", "/api/v1/streaming"), ["streams", "subscriptions"]
    yield ("OPTIONS", "/api/<>"), ["preflights"]
    yield ("ANY", "/<>"), ["pages"]
    yield ("ANY", "/api/<>"), ["api"]


def renew_endpoints(old: str) -> str:
    """Return all routes, sorted by path: who may call them, and the rules that count their requests."""
    endpoints = {(endpoint.method, shape(endpoint.path)): endpoint for endpoint in all_endpoints()}
    rows = sorted((path, method, ", ".join(names)) for (method, path), names in counting_rules())
    return comments(old) + "".join(
        f"{method:<9}  {path:<47}  {access(endpoints.get((method, path))):<23}  {names}\n"
        for path, method, names in rows
    )


def access(endpoint: Endpoint | None) -> str:
    """Return who may call an endpoint, by token, scopes and role. `-`: it is answered in front of the endpoints."""
    if endpoint is None:
        return "-"
    kind = "page" if endpoint.page else endpoint.auth
    role = [] if endpoint.permission is None else [endpoint.permission.name or ""]
    return " ".join([kind, *sorted(endpoint.scopes), *role])


def renew_codec_names(old: str) -> str:
    """Add the names of new classes. A name is never removed: other versions of the server know it."""
    return "".join(f"{name}\n" for name in sorted({*old.split(), *dict(CODEC)}))


def renew_commands(old: str) -> str:
    """Return all commands, with those of their options that promise something to operators."""
    rows = sorted((words, {flag for one in command.params for flag in one.opts}) for words, command in COMMANDS.items())
    promises = ("--json", "--dry-run", "--yes")
    lines = (f"{words:<26}{' '.join(flag for flag in promises if flag in flags)}" for words, flags in rows)
    return comments(old) + "".join(f"{line.rstrip()}\n" for line in lines)


def renew_packages(old: str) -> str:
    """Return `pyproject.toml` with the list of all folders that have modules."""
    folders = {path.parent.relative_to(ROOT).parts for path in MODULES}
    names = sorted({"troupe", *(".".join(("troupe", *parts)) for parts in folders)})
    rows = "".join(f'    "{name}",\n' for name in names)
    return re.sub(r"(?<=\npackages = \[\n)[^\]]*", lambda _: rows, old)


def comments(text: str) -> str:
    """Return the comments at the top of a list."""
    return "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))


GOLDEN = (
    Golden(ROOT / "tests/http/contract/endpoints.txt", renew_endpoints),
    Golden(ROOT / "tests/architecture/codec_names.txt", renew_codec_names),
    Golden(ROOT / "tests/architecture/commands.txt", renew_commands),
    Golden(ROOT / "pyproject.toml", renew_packages),
    Golden(PICTURE, lambda _: picture()),
    *(Golden(LOG / f"{name}.log", lambda _, form=form: written(form)) for name, form in FORMS.items()),
    *(Golden(ROOT / file, lambda old, table=table: with_table(old, table())) for table, file in TABLES.items()),
)


def main() -> None:
    changed = {str(golden.path.relative_to(ROOT)): None for golden in GOLDEN if golden.accept()}
    click.echo("\n".join([f"{path} changed; read `git diff {path}`" for path in changed] or ["Nothing changed."]))


if __name__ == "__main__":
    main()
