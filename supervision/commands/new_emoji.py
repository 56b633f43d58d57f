"""`troupe emoji add` and `import`: custom emoji are made, their pictures in confined processes, then their rows.

All rows are stored in one transaction.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...storage import custom_emojis
from ...storage.engine.database import lone_exception
from .chosen_server import ChosenServer
from .emoji_files import EmojiFile, EmojiTerms, InvalidEmoji, read_picture, read_pictures
from .options import dry_run_option, setting_options

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.files import Folder
    from ...storage.media import ProcessedMedia
    from .progress import Update
    from .rows import Here

AT_ONCE = 2
PATIENCE = 60.0  # seconds for a picture
ENDING = (signal.SIGTERM, signal.SIGHUP)  # Trio itself raises for SIGINT

_file = click.Path(exists=True, path_type=Path)
_category = click.option("--category", metavar="NAME", help="The heading above it in the pickers of clients.")
_unlisted = click.option("--unlisted", is_flag=True, help="Shown in texts, and not offered in pickers.")
_replace = click.option("--replace", is_flag=True, help="Replace emoji with the same names.")


@click.command
@click.argument("shortcode")
@click.argument("file", type=_file)
@_category
@_unlisted
@_replace
@setting_options("data")
def add(server: ChosenServer, shortcode: str, file: Path, category: str | None, unlisted: bool, replace: bool) -> None:
    """Add the picture FILE as :SHORTCODE:.

    A PNG, GIF, WebP or AVIF of at most 256 KiB. The name has 2 to 100 of the letters a to z and A to Z, digits and
    underscores.
    """
    _add(server, [EmojiFile(shortcode, read_picture(file))], EmojiTerms(category, not unlisted, replace))
    click.echo(f"Added :{shortcode}:")


@click.command("import")
@click.argument("source", type=_file)
@_category
@_unlisted
@_replace
@dry_run_option
@setting_options("data")
def import_(
    server: ChosenServer, source: Path, category: str | None, unlisted: bool, replace: bool, dry_run: bool
) -> None:
    """Add all pictures of SOURCE: a folder with its subfolders, a zip archive, or a tar archive, plain or gzipped.

    `cat.png` becomes :cat:, and `Blob-Dog.png` :Blob_Dog:. A `pack.json` of Pleroma or Akkoma and a `meta.json` of
    Misskey give the names and categories of the files beside them. Files that are no pictures by their names are left
    out. A picture that can't be added is named with the reason, and the others are added.
    """
    _ = server.settings  # a wrong setting is said before the files are read
    try:
        pack = read_pictures(source)
        if not pack.files:
            raise InvalidEmoji(".\n".join(pack.refusals))
        terms = EmojiTerms(category, not unlisted, replace)
        added, refused = _add(server, pack.files, terms, dry_run=dry_run)
    except InvalidEmoji as unfit:
        raise InvalidEmoji(f"{unfit}. No emoji was added") from None
    for line in (*pack.renamed, *(f"Refused: {refusal}" for refusal in (*pack.refusals, *refused))):
        click.echo(f"{line}.", err=True)
    click.echo(f"{'Would add' if dry_run else 'Added'} {added} emoji.")


def _add(
    server: ChosenServer, files: Sequence[EmojiFile], terms: EmojiTerms, *, dry_run: bool = False
) -> tuple[int, list[str]]:
    """Add emoji in one transaction. Return their number, and the reasons of refused emoji.

    With `dry_run` the pictures are made all the same, which shows that they can be used, and removed again. Raises
    InvalidEmoji if none can be added.
    """
    from .progress import progress

    with progress("Pictures", len(files), "No emoji was added.") as update:
        return _make_and_store(server, files, terms, update, dry_run=dry_run)


def _make_and_store(
    server: ChosenServer, files: Sequence[EmojiFile], terms: EmojiTerms, progress: Update, *, dry_run: bool
) -> tuple[int, list[str]]:
    import trio

    from ...storage.files import COMMANDS
    from ..settings.media_folders import media_folder

    folder = media_folder(server.settings, COMMANDS)
    taken = server.transact(_taken, [file.shortcode for file in files], terms)
    refused = [
        f"{file.where}there is an emoji :{file.shortcode}: already; --replace takes its place"
        for file in files
        if file.shortcode in taken
    ]
    pictures = {secrets.token_hex(16): file for file in files if file.shortcode not in taken}
    categories = {file.shortcode: file.category for file in files if file.category is not None}
    try:
        made, unfit = trio.run(_make_all, folder, pictures, progress)
        refused += unfit
        if not made:
            raise InvalidEmoji(".\n".join(refused))
        names = [name for media in made.values() for name in _names(media)]
        try:
            if os.geteuid() == 0:  # the server may run as another user, who could not read the files of root
                staged = [key for key, file in pictures.items() if file.shortcode in made]
                folder.give_to(server.settings.data, staged, names)
            server.transact(_store, made, terms, categories, dry_run=dry_run)
        except BaseException:
            folder.remove(names)
            raise
        if dry_run:
            folder.remove(names)
    finally:
        # Not before the rows are stored: by these folders a server finds the files that a killed process has left.
        for key in pictures:
            folder.clear(key)
    return len(made), refused


async def _taken(db: Connection, here: Here, shortcodes: Sequence[str], terms: EmojiTerms) -> set[str]:
    """Return the names that can't be added, before any picture is made."""
    return set() if terms.replace else {emoji.shortcode for emoji in await custom_emojis.find_local(db)} & {*shortcodes}


async def _store(
    db: Connection, here: Here, made: dict[str, ProcessedMedia], terms: EmojiTerms, categories: Mapping[str, str]
) -> None:
    """Store emoji. A category of the command overrides the categories of a manifest."""
    from ...actors.commands.custom_emojis import EmojiChanges, EmojiFiles, NewEmoji, add_many

    wanted = list[NewEmoji]()
    for shortcode, media in made.items():
        category = terms.category.strip() if terms.category else categories.get(shortcode)
        changes = EmojiChanges(category, terms.visible_in_picker)
        wanted.append(NewEmoji(shortcode, EmojiFiles(media.file, media.thumbnail_file or media.file), changes))
    require_stored(await add_many(here.act, wanted, replacing=terms.replace))


async def _make_all(
    folder: Folder, files: Mapping[str, EmojiFile], progress: Update
) -> tuple[dict[str, ProcessedMedia], list[str]]:
    """Return the files of each emoji, which are published, and the reasons why other pictures can't be used.

    If a signal ends all, none is left. `files` has the keys by which they are made.
    """
    import trio

    made: dict[str, ProcessedMedia] = {}
    unfit = list[str]()
    failures: list[InvalidEmoji] = []
    places = trio.CapacityLimiter(AT_ONCE)

    async def make(key: str, file: EmojiFile) -> None:
        async with places:
            try:
                made[file.shortcode] = await _make(folder, key, file)
                progress(1)
            except InvalidEmoji as error:
                unfit.append(str(error))

    async def watch() -> None:
        asking = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        with trio.open_signal_receiver(*asking) as signals:
            async for number in signals:
                failures.append(InvalidEmoji(f"the command was ended by {signal.Signals(number).name}"))
                nursery.cancel_scope.cancel()

    try:
        with lone_exception():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watch)
                async with trio.open_nursery() as making:
                    for key, file in files.items():
                        making.start_soon(make, key, file)
                nursery.cancel_scope.cancel()
        if failures:
            raise failures[0]
    except BaseException:
        with trio.CancelScope(shield=True):
            await folder.in_thread(folder.remove, [name for media in made.values() for name in _names(media)])
        raise
    return made, sorted(unfit)


async def _make(folder: Folder, key: str, file: EmojiFile) -> ProcessedMedia:
    import trio

    from ...actors.media import process
    from ...actors.media.jobs import FileRefused, Job
    from ...actors.media.kinds import EMOJIS, HEAD, kind_of
    from ...actors.media.process import ProcessingFailed

    kind = kind_of(file.picture[:HEAD])
    if kind not in EMOJIS:
        raise InvalidEmoji(f"{file.where}the picture is not a PNG, GIF, WebP or AVIF")
    place = await trio.to_thread.run_sync(folder.stage, key, BytesIO(file.picture))
    try:
        made = await process.make(Job("emoji", kind.name, str(place / "source"), str(place), key), PATIENCE)
        await folder.in_thread(folder.publish, key, _names(made))
        return made
    except (FileRefused, ProcessingFailed) as error:
        raise InvalidEmoji(f"{file.where}the picture can't be used: {error}") from None


def _names(made: ProcessedMedia) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (made.file, made.thumbnail_file) if name is not None))


def require_stored(outcome: object) -> None:
    """Raise InvalidEmoji if an act was refused."""
    from ...actors.kernel.errors import Refused

    if isinstance(outcome, Refused):
        raise InvalidEmoji(outcome.text)
