"""`troupe emoji`: the custom emoji of this server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from .options import (
    CommandRefused,
    ask_first,
    dry_run_option,
    json_option,
    print_list,
    setting_options,
    settings_from,
    yes_option,
)

if TYPE_CHECKING:
    from ...actors.commands.custom_emojis import EmojiChanges
    from .emoji_files import EmojiFile

_file = click.Path(exists=True, path_type=Path)
_category = click.option("--category", metavar="NAME", help="The heading above it in the pickers of clients.")
_unlisted = click.option("--unlisted", is_flag=True, help="Shown in texts, and not offered in pickers.")
_replace = click.option("--replace", is_flag=True, help="Take the place of emoji with the same names.")


@click.group
def emoji() -> None:
    """Custom emoji: small pictures that people write as :name:.

    Run these commands as the user of the server, on the machine with its data folder.
    """


@emoji.command
@click.argument("shortcode")
@click.argument("file", type=_file)
@_category
@_unlisted
@_replace
@setting_options("data")
def add(
    shortcode: str,
    file: Path,
    category: str | None,
    unlisted: bool,
    replace: bool,
    data: str | None,
    config: Path | None,
) -> None:
    """Add the picture FILE as :SHORTCODE:.

    A PNG, GIF, WebP or AVIF of at most 256 KiB. The name has 2 to 100 of the letters a to z and A to Z, digits and
    underscores.
    """
    from .emoji_files import EmojiFile, InvalidEmoji, read_picture

    try:
        _add([EmojiFile(shortcode, read_picture(file))], category, unlisted, replace, data, config)
    except InvalidEmoji as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Added :{shortcode}:")


@emoji.command("import")
@click.argument("source", type=_file)
@_category
@_unlisted
@_replace
@dry_run_option
@setting_options("data")
def import_(
    source: Path,
    category: str | None,
    unlisted: bool,
    replace: bool,
    dry_run: bool,
    data: str | None,
    config: Path | None,
) -> None:
    """Add all pictures of SOURCE: a folder with its subfolders, a zip archive, or a tar archive, also one of gzip.

    `cat.png` becomes :cat:, and `Blob-Dog.png` :Blob_Dog:. A `pack.json` of Pleroma or Akkoma and a `meta.json` of
    Misskey give the names and categories of the files beside them. Files that are no pictures by their names are left
    out. A picture that can't be added is named with the reason, and the others are added.
    """
    from .emoji_files import InvalidEmoji, read_pictures

    settings_from(config, data=data)  # a wrong setting is said before the files are read
    try:
        pack = read_pictures(source)
        refusals = pack.refusals
        if not pack.files:
            raise InvalidEmoji(".\n".join(refusals))
        added, unfit = _add(pack.files, category, unlisted, replace, data, config, dry_run=dry_run)
    except InvalidEmoji as unfit:
        raise CommandRefused(f"{unfit}. No emoji was added.") from None
    for line in (*pack.renamed, *(f"Refused: {refusal}" for refusal in (*refusals, *unfit))):
        click.echo(f"{line}.", err=True)
    click.echo(f"{'Would add' if dry_run else 'Added'} {added} emoji.")


@emoji.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the emoji: name, category, and whether it is unlisted or disabled."""
    from .emoji_making import find_emojis
    from .rows import transact

    print_list(transact(settings_from(config, data=data), find_emojis), _line, as_json=as_json)


@emoji.command
@click.argument("shortcode", metavar="NAME")
@setting_options("data")
def disable(shortcode: str, data: str | None, config: Path | None) -> None:
    """Show :NAME: nowhere any more, until it is enabled. Texts that use it show its name."""
    from ...actors.commands.custom_emojis import EmojiChanges

    _change(shortcode, EmojiChanges(disabled=True), data, config)
    click.echo(f"Disabled :{shortcode.strip(':')}:")


@emoji.command
@click.argument("shortcode", metavar="NAME")
@setting_options("data")
def enable(shortcode: str, data: str | None, config: Path | None) -> None:
    """Show :NAME: again after it was disabled."""
    from ...actors.commands.custom_emojis import EmojiChanges

    _change(shortcode, EmojiChanges(disabled=False), data, config)
    click.echo(f"Enabled :{shortcode.strip(':')}:")


@emoji.command("category")
@click.argument("shortcode", metavar="NAME")
@click.argument("heading", metavar="CATEGORY", required=False)
@setting_options("data")
def set_category(shortcode: str, heading: str | None, data: str | None, config: Path | None) -> None:
    """Put :NAME: under the heading CATEGORY in the pickers of clients; without CATEGORY, under none."""
    from ...actors.commands.custom_emojis import EmojiChanges
    from .emoji_files import InvalidEmoji, check_category

    try:
        if heading is not None:
            check_category(heading)
    except InvalidEmoji as unfit:
        raise CommandRefused(f"{unfit}.") from None
    _change(shortcode, EmojiChanges(category=(heading or "").strip()), data, config)
    click.echo(f"Changed :{shortcode.strip(':')}:")


@emoji.command
@click.argument("shortcode")
@yes_option
@setting_options("data")
def remove(shortcode: str, yes: bool, data: str | None, config: Path | None) -> None:
    """Remove :SHORTCODE:. Texts that use it show its name."""
    from .emoji_files import InvalidEmoji
    from .emoji_making import remove_emoji
    from .rows import transact

    ask_first(lambda: f"Remove :{shortcode.strip(':')}: with its picture?", yes=yes)
    try:
        transact(settings_from(config, data=data), remove_emoji, shortcode.strip(":"))
    except InvalidEmoji as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Removed :{shortcode.strip(':')}:")


def _add(
    files: list[EmojiFile],
    category: str | None,
    unlisted: bool,
    replace: bool,
    data: str | None,
    config: Path | None,
    *,
    dry_run: bool = False,
) -> tuple[int, list[str]]:
    from .emoji_files import EmojiTerms
    from .emoji_making import add_emojis
    from .progress import progress

    settings, terms = settings_from(config, data=data), EmojiTerms(category, not unlisted, replace)
    with progress("Pictures", len(files), "No emoji was added.") as update:
        return add_emojis(settings, files, terms, update, dry_run=dry_run)


def _line(one: JsonObject) -> str:
    marks = {"unlisted": not one["visible_in_picker"], "disabled": one["disabled"]}
    return "\t".join(
        [f":{one['shortcode']}:", one["category"] or "-", *(mark for mark, holds in marks.items() if holds)]
    )


def _change(shortcode: str, changes: EmojiChanges, data: str | None, config: Path | None) -> None:
    from .emoji_files import InvalidEmoji
    from .emoji_making import change_emoji
    from .rows import transact

    try:
        transact(settings_from(config, data=data), change_emoji, shortcode.strip(":"), changes)
    except InvalidEmoji as unfit:
        raise CommandRefused(f"{unfit}.") from None
