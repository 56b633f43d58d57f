"""Making custom emoji: their pictures in confined processes, then their rows in one transaction."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from io import BytesIO

import trio

from ...actors.commands.custom_emojis import EmojiChanges, EmojiFiles, NewEmoji, add, change, remove
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.media import process
from ...actors.media.jobs import FileRefused, Job
from ...actors.media.kinds import EMOJIS, HEAD, kind_of
from ...actors.media.process import ProcessingFailed
from ...actors.staff import act_at_command_line
from ...storage import custom_emojis
from ...storage.custom_emojis import CustomEmoji
from ...storage.engine import notices
from ...storage.engine.database import Connection, lone_exception
from ...storage.files import COMMANDS, Folder
from ...storage.media import ProcessedMedia
from ..configuration import Settings
from ..media_folders import media_folder
from .emoji_files import EmojiFile, EmojiTerms, InvalidEmoji
from .rows import transact

AT_ONCE = 2
PATIENCE = 60.0  # seconds for one picture
ENDING = (signal.SIGTERM, signal.SIGHUP)  # Trio itself raises for SIGINT


def add_emojis(
    settings: Settings,
    files: Sequence[EmojiFile],
    terms: EmojiTerms,
    progress: Callable[[int], None],
    *,
    dry_run: bool = False,
) -> tuple[int, list[str]]:
    """Add emoji in one transaction. Return their number, and the reasons of those that are refused.

    `progress` is told of each picture. With `dry_run` the pictures are made all the same, which shows that they can be
    used, and removed again. Raises InvalidEmoji if none can be added.
    """
    folder = media_folder(settings, COMMANDS)
    taken = transact(settings, _taken, [file.shortcode for file in files], terms)
    refused = [f"{file.where}{_is_taken(file.shortcode)}" for file in files if file.shortcode in taken]
    pictures = {secrets.token_hex(16): file for file in files if file.shortcode not in taken}
    categories = {file.shortcode: file.category for file in files if file.category is not None}
    try:
        made, unfit = trio.run(_make_all, folder, pictures, progress)
        refused += unfit
        if not made:
            raise InvalidEmoji(".\n".join(refused))
        names = [name for one in made.values() for name in _names(one)]
        try:
            if os.geteuid() == 0:  # the server may run as another user, who could not read the files of root
                staged = [key for key, file in pictures.items() if file.shortcode in made]
                folder.give_to(settings.data, staged, names)
            transact(settings, _store, made, terms, categories, dry_run=dry_run)
        except BaseException:
            folder.remove(names)
            raise
        if dry_run:
            folder.remove(names)
    finally:
        # Not before the rows are stored: by these folders a server finds what is left if this process is killed.
        for key in pictures:
            folder.clear(key)
    return len(made), refused


async def find_emojis(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all emoji of this server as JSON, the disabled ones too."""
    return [
        {
            "id": str(one.id),
            "shortcode": one.shortcode,
            "category": one.category,
            "visible_in_picker": one.visible_in_picker,
            "disabled": one.disabled,
        }
        for one in await custom_emojis.find_local(db)
    ]


async def remove_emoji(db: Connection, shortcode: str, ids: Ids, now: datetime) -> None:
    """Remove an emoji, and promise to remove its files."""
    _check(await remove(db, act_at_command_line(ids, now), (await _find(db, shortcode)).id))
    await notices.announce(db, "outbox")


async def change_emoji(db: Connection, shortcode: str, changes: EmojiChanges, ids: Ids, now: datetime) -> None:
    """Change an emoji."""
    _check(await change(db, act_at_command_line(ids, now), (await _find(db, shortcode)).id, changes))


async def _find(db: Connection, shortcode: str) -> CustomEmoji:
    found = next((one for one in await custom_emojis.lock(db) if one.shortcode == shortcode), None)
    if found is None:
        raise InvalidEmoji(f"there is no emoji :{shortcode}:")
    return found


async def _taken(db: Connection, shortcodes: Sequence[str], terms: EmojiTerms, ids: Ids, now: datetime) -> set[str]:
    """Return the names that can't be added, before any picture is made."""
    return set() if terms.replace else {one.shortcode for one in await custom_emojis.find_local(db)} & {*shortcodes}


def _is_taken(shortcode: str) -> str:
    return f"there is an emoji :{shortcode}: already; --replace takes its place"


async def _store(
    db: Connection,
    made: dict[str, ProcessedMedia],
    terms: EmojiTerms,
    categories: Mapping[str, str],
    ids: Ids,
    now: datetime,
) -> None:
    """Store emoji. A category of the command stands before those of a manifest."""
    wanted = list[NewEmoji]()
    for shortcode, one in made.items():
        category = terms.category.strip() if terms.category else categories.get(shortcode)
        changes = EmojiChanges(category, terms.visible_in_picker)
        wanted.append(NewEmoji(shortcode, EmojiFiles(one.file, one.thumbnail_file or one.file), changes))
    _check(await add(db, act_at_command_line(ids, now), wanted, replacing=terms.replace))
    await notices.announce(db, "outbox")


def _check(outcome: object) -> None:
    if isinstance(outcome, Refused):
        raise InvalidEmoji(outcome.text)


async def _make_all(
    folder: Folder, files: Mapping[str, EmojiFile], progress: Callable[[int], None]
) -> tuple[dict[str, ProcessedMedia], list[str]]:
    """Return the files of each emoji, which are published, and the reasons of those whose picture can't be used.

    If a signal ends all, none is left. `files` has the keys by which they are made.
    """
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
            await folder.in_thread(folder.remove, [name for one in made.values() for name in _names(one)])
        raise
    return made, sorted(unfit)


async def _make(folder: Folder, key: str, file: EmojiFile) -> ProcessedMedia:
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
