"""`troupe rules`: the rules of the server."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import ask_first, json_option, print_list, setting_options, yes_option
from .refusals import require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

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
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the rules: id and text."""
    from ...storage.operator_texts import read_rules
    from .text_files import reading, texts_folder

    with reading():
        found = read_rules(texts_folder(server.settings))
    rules = [
        {
            "id": str(rule.id),
            **asdict(rule.original),
            "translations": {k: asdict(t) for k, t in rule.translations.items()},
        }
        for rule in found
    ]
    print_list(rules, _line, as_json=as_json)


def _line(rule: JsonObject) -> str:
    return f"{rule['id']}\t{' '.join(str(rule['text']).split())}"


@rules.command
@click.argument("text")
@_hint
@setting_options("data")
def add(server: ChosenServer, text: str, hint: str | None) -> None:
    """Add a rule behind the others."""
    from .text_files import refusing

    with refusing():
        click.echo(f"Added rule {server.transact(_add, text, hint or '')}")


async def _add(db: Connection, here: Here, text: str, hint: str) -> int:
    """Add a rule and return its id."""
    from ...actors.staff.operator_texts import add_rule
    from ...storage.operator_texts import RuleText
    from .text_files import texts_folder

    return require(await add_rule(here.act, texts_folder(here.settings), RuleText(text, hint)))


@rules.command
@click.argument("rule_id", metavar="ID", type=int)
@click.option("--text", metavar="TEXT", help="The new text.")
@_hint
@click.option("--language", metavar="CODE", help="Change the translation into this language, such as `de`.")
@setting_options("data")
def change(server: ChosenServer, rule_id: int, text: str | None, hint: str | None, language: str | None) -> None:
    """Change a rule, or add a translation. Values that are not given stay as they are. Use `add` for another rule."""
    from .text_files import refusing

    with refusing():
        server.transact(_change, rule_id, text, hint, language)
    click.echo(f"Changed rule {rule_id}")


async def _change(
    db: Connection, here: Here, id: int, text: str | None, hint: str | None, language: str | None
) -> None:
    """Change the original of a rule or a translation."""
    from ...actors.staff.operator_texts import change_rule
    from .text_files import texts_folder

    require(await change_rule(here.act, texts_folder(here.settings), id, text, hint, language))


@rules.command
@click.argument("rule_id", metavar="ID", type=int)
@yes_option
@setting_options("data")
def remove(server: ChosenServer, rule_id: int, yes: bool) -> None:
    """Remove a rule. Its id is not used again."""
    from .text_files import refusing

    ask_first(lambda: "Reports that name the rule show it no more. Remove it?", yes=yes)
    with refusing():
        server.transact(_remove, rule_id)
    click.echo(f"Removed rule {rule_id}")


async def _remove(db: Connection, here: Here, id: int) -> None:
    from ...actors.staff.operator_texts import remove_rule
    from .text_files import texts_folder

    require(await remove_rule(here.act, texts_folder(here.settings), id))
