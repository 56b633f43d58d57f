"""Every command that a text of the product names exists, with the options that the text gives it."""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping

import click
import pytest

from troupe.supervision.commands import troupe

from .imports import MODULES, ROOT

PRODUCT = [path for path in MODULES if "tests" not in path.relative_to(ROOT).parts]
TEXTS = [
    *ROOT.glob("*.md"), *(path for room in ("actors", "http", "storage", "supervision")
                          for pattern in ("*.md", "*.html") for path in (ROOT / room).rglob(pattern)),
]  # fmt: skip
NAMED = re.compile(r"(?<![\w./-])troupe ([a-z][^`\n]*)")
QUOTED = re.compile(r"`troupe ([^`]*)`")
# A line of code in a Markdown file, behind a prompt, variables and the user that runs it.
CODE = re.compile(r"^    (?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo -u \w+ )?troupe ([a-z].*)$", re.MULTILINE)
WORD = re.compile(r"[a-z][a-z-]*")
# Names of a thread and of sessions of the database.
NO_COMMANDS = {"watchdog", "command line"}
GAP = "GAP"  # what stands for a value that is known when the text is shown


def texts(source: str) -> Iterator[str]:
    """Yield the string constants of a module; values of f-strings become gaps."""
    tree = ast.parse(source)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values]
            yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def advice(text: str) -> Iterator[str]:
    """Yield what a text has after `troupe`: in backquotes, or at the begin of a line that is a command."""
    yield from (" ".join(found.split()) for found in QUOTED.findall(text))
    for line in text.splitlines():
        found = NAMED.match(line.strip().removeprefix("$ "))
        if found is not None and "`" not in line and found[1] not in NO_COMMANDS:
            yield found[1]


def named() -> list[tuple[str, str]]:
    found = [
        (str(path.relative_to(ROOT)), words)
        for path in PRODUCT
        for text in texts(path.read_text("utf-8"))
        for words in advice(text)
    ]
    found += [
        (str(path.relative_to(ROOT)), " ".join(words.split()))
        for path in TEXTS
        if path.name != "CHANGELOG.md"
        for form in (QUOTED, CODE)
        for words in form.findall(path.read_text("utf-8"))
    ]
    return sorted({*found})


def problem(words: str) -> str | None:
    """Return what the parser of the product says to a command, None if it takes it."""
    try:
        arguments = shlex.split(re.split(r"[|;<>]|\s#\s|&&", words)[0])
    except ValueError:
        return "the quotes have no end"
    command: click.Command = troupe
    context, path = click.Context(troupe, info_name="troupe"), ["troupe"]
    while isinstance(command, click.Group) and arguments and WORD.fullmatch(arguments[0]):
        inner = command.get_command(context, arguments[0])
        if inner is None:
            return f"{' '.join(path)} has no command {arguments[0]}"
        path.append(arguments.pop(0))
        command, context = inner, click.Context(inner, info_name=path[-1], parent=context)
    try:
        values, left, _ = command.make_parser(context).parse_args([*arguments])
    except click.UsageError as error:
        return error.format_message()
    if isinstance(command, click.Group):
        return None
    missing = [
        parameter.human_readable_name
        for parameter in command.params
        if isinstance(parameter, click.Argument) and parameter.required and not _given(values, parameter)
    ]
    # A text that names a command alone is no call of it.
    return f"{' '.join(path)} needs {missing}, and has {left}" if left or (arguments and missing) else None


def _given(values: Mapping[str, object], argument: click.Argument) -> bool:
    # click has a mark of its own for no value
    return isinstance(values.get(argument.name or ""), str | tuple | list) and values.get(argument.name or "") != ()


def test_the_texts_of_the_product_name_commands() -> None:
    assert len(named()) > 100


@pytest.mark.parametrize(("place", "words"), named())
def test_a_command_that_a_text_names_exists_with_its_options(place: str, words: str) -> None:
    assert problem(words) is None, place


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("domains blok bad.example", "troupe domains has no command blok"),
        ("domains block bad.example --severe", "No such option"),
        ("ips block 192.0.2.7 --days", "Option '--days' requires an argument."),
        ("domains block --obfuscate", "troupe domains block needs ['DOMAIN'], and has []"),
        ("domains block a.example b.example", "troupe domains block needs [], and has ['b.example']"),
        ("fly", "troupe has no command fly"),
    ],
)
def test_a_command_that_does_not_exist_is_found(words: str, said: str) -> None:
    assert (problem(words) or "").startswith(said)
