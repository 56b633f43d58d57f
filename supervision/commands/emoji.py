"""`troupe emoji`: the custom emoji of this server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...storage import custom_emojis
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .emoji_files import InvalidEmoji, check_category
from .new_emoji import add, import_, require_stored
from .options import ask_first, json_option, print_list, setting_options, yes_option

if TYPE_CHECKING:
    from ...actors.commands.custom_emojis import EmojiChanges
    from ...storage.custom_emojis import CustomEmoji
    from ...storage.engine.database import Connection
    from .rows import Here


@click.group
def emoji() -> None:
    """Custom emoji: small pictures that people write as :name:.

    Run these commands as the user of the server, on the machine with its data folder.
    """


for command in (add, import_):
    emoji.add_command(command)


@emoji.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the emoji: name, category, and whether it is unlisted or disabled."""
    print_list(server.transact(_found), _line, as_json=as_json)


async def _found(db: Connection, here: Here) -> list[JsonObject]:
    """Return all emoji of this server as JSON, also disabled emoji."""
    return [
        {
            "id": str(emoji.id),
            "shortcode": emoji.shortcode,
            "category": emoji.category,
            "visible_in_picker": emoji.visible_in_picker,
            "disabled": emoji.disabled,
        }
        for emoji in await custom_emojis.find_local(db)
    ]


def _line(emoji: JsonObject) -> str:
    marks = {"unlisted": not emoji["visible_in_picker"], "disabled": emoji["disabled"]}
    return "\t".join(
        [f":{emoji['shortcode']}:", emoji["category"] or "-", *(mark for mark, holds in marks.items() if holds)]
    )


@emoji.command
@click.argument("shortcode", metavar="NAME")
@setting_options("data")
def disable(server: ChosenServer, shortcode: str) -> None:
    """Show :NAME: nowhere any more, until it is enabled. Texts that use it show its name."""
    from ...actors.commands.custom_emojis import EmojiChanges

    server.transact(_change, shortcode.strip(":"), EmojiChanges(disabled=True))
    click.echo(f"Disabled :{shortcode.strip(':')}:")


@emoji.command
@click.argument("shortcode", metavar="NAME")
@setting_options("data")
def enable(server: ChosenServer, shortcode: str) -> None:
    """Show :NAME: again after it was disabled."""
    from ...actors.commands.custom_emojis import EmojiChanges

    server.transact(_change, shortcode.strip(":"), EmojiChanges(disabled=False))
    click.echo(f"Enabled :{shortcode.strip(':')}:")


@emoji.command("category")
@click.argument("shortcode", metavar="NAME")
@click.argument("heading", metavar="CATEGORY", required=False)
@setting_options("data")
def set_category(server: ChosenServer, shortcode: str, heading: str | None) -> None:
    """Put :NAME: under the heading CATEGORY in the pickers of clients; without CATEGORY, under none."""
    from ...actors.commands.custom_emojis import EmojiChanges

    if heading is not None:
        check_category(heading)
    server.transact(_change, shortcode.strip(":"), EmojiChanges(category=(heading or "").strip()))
    click.echo(f"Changed :{shortcode.strip(':')}:")


async def _change(db: Connection, here: Here, shortcode: str, changes: EmojiChanges) -> None:
    from ...actors.commands.custom_emojis import ChangeEmoji, change

    message = ChangeEmoji(here.staff, (await _find(db, shortcode)).id, changes)
    require_stored(await change(here.act, message))


@emoji.command
@click.argument("shortcode")
@yes_option
@setting_options("data")
def remove(server: ChosenServer, shortcode: str, yes: bool) -> None:
    """Remove :SHORTCODE:. Texts that use it show its name."""
    ask_first(lambda: f"Remove :{shortcode.strip(':')}: with its picture?", yes=yes)
    server.transact(_remove, shortcode.strip(":"))
    click.echo(f"Removed :{shortcode.strip(':')}:")


async def _remove(db: Connection, here: Here, shortcode: str) -> None:
    """Remove an emoji, and queue the removal of its files."""
    from ...actors.commands.custom_emojis import RemoveEmoji, remove

    message = RemoveEmoji(here.staff, (await _find(db, shortcode)).id)
    require_stored(await remove(here.act, message))


async def _find(db: Connection, shortcode: str) -> CustomEmoji:
    found = next((emoji for emoji in await custom_emojis.lock(db) if emoji.shortcode == shortcode), None)
    if found is None:
        raise InvalidEmoji(f"there is no emoji :{shortcode}:")
    return found
