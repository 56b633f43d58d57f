"""`troupe rules`: the rules of the server."""

from __future__ import annotations

from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .options import ask_first, json_option, print_list, setting_options, yes_option

_hint = click.option("--hint", metavar="TEXT", help="An explanation of the rule.")


@click.group
def rules() -> None:
    """Rules, which people agree to when they sign up, and which reports name.

    They are in the file `texts/rules.toml` of the data folder. Run these commands as the user of the server, on the
    machine with its data folder. A change writes the file anew: comments in it are lost.
    """


@rules.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the rules: id and text."""
    from .ruling import listed

    found = listed(config, data)
    print_list(found, _line, as_json=as_json)


@rules.command
@click.argument("text")
@_hint
@setting_options("data")
def add(text: str, hint: str | None, data: str | None, config: Path | None) -> None:
    """Add a rule behind the others."""
    from .ruling import add as add_rule

    click.echo(f"Added rule {add_rule(config, data, text, hint or '')}")


@rules.command
@click.argument("rule_id", metavar="ID", type=int)
@click.option("--text", metavar="TEXT", help="The new text.")
@_hint
@click.option("--language", metavar="CODE", help="Change the translation into this language, such as `de`.")
@setting_options("data")
def change(
    rule_id: int, text: str | None, hint: str | None, language: str | None, data: str | None, config: Path | None
) -> None:
    """Change a rule, or add a translation. What is not said stays as it is. Use `add` for another rule."""
    from .ruling import change as change_rule

    change_rule(config, data, rule_id, text, hint, language)
    click.echo(f"Changed rule {rule_id}")


@rules.command
@click.argument("rule_id", metavar="ID", type=int)
@yes_option
@setting_options("data")
def remove(rule_id: int, yes: bool, data: str | None, config: Path | None) -> None:
    """Remove a rule. Its id is not used again."""
    from .ruling import remove as remove_rule

    ask_first(lambda: "Reports that name the rule show it no more. Remove it?", yes=yes)
    remove_rule(config, data, rule_id)
    click.echo(f"Removed rule {rule_id}")


def _line(one: JsonObject) -> str:
    return f"{one['id']}\t{' '.join(str(one['text']).split())}"
