"""Making custom emoji: their pictures in confined processes, then their rows in one transaction."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from datetime import datetime
from io import BytesIO

import trio

from ...actors.effects.files import files_unused
from ...actors.kernel.ids import Ids
from ...actors.media import process
from ...actors.media.jobs import FileRefused, Job
from ...actors.media.kinds import AVIF, GIF, HEAD, PNG, WEBP, kind_of
from ...actors.media.process import ProcessingFailed
from ...actors.outbox import new_effect
from ...storage import custom_emojis, outbox
from ...storage.custom_emojis import CustomEmoji
from ...storage.engine import notices
from ...storage.engine.database import Connection, lone_exception
from ...storage.files import COMMANDS, Folder
from ...storage.media import ProcessedMedia
from ..configuration import Settings
from .emoji_files import EmojiFile, EmojiTerms, InvalidEmoji
from .rows import transact

KINDS = {PNG, GIF, WEBP, AVIF}
AT_ONCE = 2
PATIENCE = 60.0  # seconds for one picture
NOTICE = "custom_emojis"
ENDING = (signal.SIGTERM, signal.SIGHUP)  # Trio itself raises for SIGINT


def add_emojis(settings: Settings, files: Sequence[EmojiFile], terms: EmojiTerms) -> int:
    """Add emoji, all or none, and return their number. Raises InvalidEmoji."""
    folder = Folder(settings.data / "media", COMMANDS)
    transact(settings, _check_free, [file.shortcode for file in files], terms)
    pictures = {secrets.token_hex(16): file for file in files}
    try:
        made = trio.run(_make_all, folder, pictures)
        names = [name for one in made.values() for name in _names(one)]
        try:
            if os.geteuid() == 0:  # the server may run as another user, who could not read the files of root
                folder.give_to(settings.data, pictures, names)
            transact(settings, _store, made, terms)
        except BaseException:
            folder.remove(names)
            raise
    finally:
        # Not before the rows are stored: by these folders a server finds what is left if this process is killed.
        for key in pictures:
            folder.clear(key)
    return len(made)


async def find_emojis(db: Connection, ids: Ids, now: datetime) -> list[CustomEmoji]:
    """Return all emoji of this server, the disabled ones too."""
    return await custom_emojis.find_local(db)


async def remove_emoji(db: Connection, shortcode: str, ids: Ids, now: datetime) -> None:
    """Remove an emoji, and promise to remove its files."""
    if not await _delete(db, [shortcode], ids, now):
        raise InvalidEmoji(f"there is no emoji :{shortcode}:")
    await notices.announce(db, NOTICE)


async def _check_free(db: Connection, shortcodes: Sequence[str], terms: EmojiTerms, ids: Ids, now: datetime) -> None:
    """Refuse names that are taken, before any picture is made."""
    taken = {one.shortcode for one in await custom_emojis.find_local(db)} & {*shortcodes}
    if taken and not terms.replace:
        raise InvalidEmoji(f"there is an emoji :{min(taken)}: already; --replace takes its place")


async def _store(db: Connection, made: dict[str, ProcessedMedia], terms: EmojiTerms, ids: Ids, now: datetime) -> None:
    await _check_free(db, list(made), terms, ids, now)
    await _delete(db, list(made), ids, now)
    category = terms.category.strip() if terms.category else None
    rows = [
        CustomEmoji(ids.next(), shortcode, one.file, one.thumbnail_file or one.file, category, terms.visible_in_picker)
        for shortcode, one in made.items()
    ]
    await custom_emojis.insert_many(db, rows, now)
    await notices.announce(db, NOTICE)


async def _delete(db: Connection, shortcodes: Sequence[str], ids: Ids, now: datetime) -> list[CustomEmoji]:
    gone = await custom_emojis.delete_many(db, shortcodes)
    if files := [name for one in gone for name in one.files]:
        await outbox.insert_many(db, [new_effect(ids.next(), files_unused(files))], now)
    return gone


async def _make_all(folder: Folder, files: Mapping[str, EmojiFile]) -> dict[str, ProcessedMedia]:
    """Return the files of each emoji, which are published. If one fails, or a signal ends all, none is left.

    `files` has the keys by which they are made.
    """
    made: dict[str, ProcessedMedia] = {}
    failures: list[InvalidEmoji] = []
    places = trio.CapacityLimiter(AT_ONCE)

    async def make(key: str, file: EmojiFile) -> None:
        async with places:
            try:
                made[file.shortcode] = await _make(folder, key, file)
            except InvalidEmoji as error:
                failures.append(error)
                nursery.cancel_scope.cancel()

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
            await trio.to_thread.run_sync(folder.remove, [name for one in made.values() for name in _names(one)])
        raise
    return made


async def _make(folder: Folder, key: str, file: EmojiFile) -> ProcessedMedia:
    kind = kind_of(file.picture[:HEAD])
    if kind not in KINDS:
        raise InvalidEmoji(f"{file.where}the picture is no PNG, GIF, WebP or AVIF")
    place = await trio.to_thread.run_sync(folder.stage, key, BytesIO(file.picture))
    try:
        made = await process.make(Job("emoji", kind.name, str(place / "source"), str(place), key), PATIENCE)
        await trio.to_thread.run_sync(folder.publish, key, _names(made))
        return made
    except (FileRefused, ProcessingFailed) as error:
        raise InvalidEmoji(f"{file.where}the picture can't be used: {error}") from None


def _names(made: ProcessedMedia) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (made.file, made.thumbnail_file) if name is not None))
