"""Acts of staff on the custom emoji of this server."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace

from ...storage import custom_emojis
from ...storage.custom_emojis import CustomEmoji
from ...storage.engine.database import Connection
from ..effects.files import files_unused
from ..kept.custom_emojis import NOTICE
from ..kernel import Command, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act, emojis_in, needs

TAKEN = Refused(422, "Validation failed: Shortcode has already been taken")


@dataclass(frozen=True, slots=True)
class EmojiFiles:
    """The files of an emoji's picture: `file`, and `static_file` without movement, which may be the same file."""

    file: str
    static_file: str


@dataclass(frozen=True, slots=True)
class EmojiChanges:
    """The new values of an emoji. None: not said, so that it stays as it is. An empty category: none."""

    category: str | None = None
    visible_in_picker: bool | None = None
    disabled: bool | None = None

    def said(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def of(self, emoji: CustomEmoji) -> CustomEmoji:
        """Return an emoji with these changes."""
        changed = replace(emoji, **self.said())
        return replace(changed, category=changed.category or None)


@dataclass(frozen=True, slots=True)
class NewEmoji:
    """An emoji to add, whose files are published."""

    shortcode: str
    files: EmojiFiles
    changes: EmojiChanges = EmojiChanges()  # to the defaults


@dataclass(frozen=True, slots=True)
class AddEmoji(Command[CustomEmoji]):
    """Command of staff: add an emoji."""

    staff: Staff
    emoji: NewEmoji


@dataclass(frozen=True, slots=True)
class ChangeEmoji(Command[CustomEmoji]):
    """Command of staff: change an emoji, with `files` its picture too."""

    staff: Staff
    id: int
    changes: EmojiChanges
    files: EmojiFiles | None = None


@dataclass(frozen=True, slots=True)
class RemoveEmoji(Command[None]):
    """Command of staff: remove an emoji. Texts that use it show its name."""

    staff: Staff
    id: int


@act(AddEmoji, None, emojis_in)
async def add(act: StaffAct, message: AddEmoji) -> CustomEmoji | Refused:
    added = await add_many(act, [message.emoji])
    return added if isinstance(added, Refused) else added[0]


@needs(Permission.MANAGE_CUSTOM_EMOJIS)
async def add_many(
    act: StaffAct, wanted: Sequence[NewEmoji], *, replacing: bool = False
) -> list[CustomEmoji] | Refused:
    """Add emoji, all or none. With `replacing` they replace emoji with the same names."""
    names = {emoji.shortcode for emoji in wanted}
    taken = [emoji for emoji in await custom_emojis.lock(act.db) if emoji.shortcode in names]
    if taken and not replacing:
        return TAKEN
    await _delete(act, taken)
    added = [
        new.changes.of(CustomEmoji(act.ids.next(), new.shortcode, new.files.file, new.files.static_file))
        for new in wanted
    ]
    await custom_emojis.insert_many(act.db, added, act.now)
    for emoji in added:
        await _log(act, "add_custom_emoji", emoji)
    await act.reload(NOTICE)
    return added


@act(ChangeEmoji, Permission.MANAGE_CUSTOM_EMOJIS, emojis_in)
async def change(act: StaffAct, message: ChangeEmoji) -> CustomEmoji | Refused:
    before, changes, files = await _find(act.db, message.id), message.changes, message.files
    if before is None:
        return NOT_FOUND
    changed = changes.of(before)
    if files is not None:
        changed = replace(changed, file=files.file, static_file=files.static_file)
        act.promise(files_unused(before.files))
    await custom_emojis.update(act.db, changed, act.now)
    await _log(act, "change_custom_emoji", changed, picture=files is not None, **changes.said())
    await act.reload(NOTICE)
    return changed


@act(RemoveEmoji, Permission.MANAGE_CUSTOM_EMOJIS, emojis_in)
async def remove(act: StaffAct, message: RemoveEmoji) -> Refused | None:
    found = await _find(act.db, message.id)
    if found is None:
        return NOT_FOUND
    await _delete(act, [found])
    await act.reload(NOTICE)
    return None


async def _find(db: Connection, id: int) -> CustomEmoji | None:
    return next((emoji for emoji in await custom_emojis.lock(db) if emoji.id == id), None)


async def _delete(act: StaffAct, gone: Collection[CustomEmoji]) -> None:
    """Delete emoji, and promise to remove their files."""
    if not gone:
        return
    await custom_emojis.delete_many(act.db, [emoji.shortcode for emoji in gone])
    act.promise(files_unused(name for emoji in gone for name in emoji.files))
    for emoji in gone:
        await _log(act, "remove_custom_emoji", emoji)


async def _log(act: StaffAct, action: str, emoji: CustomEmoji, **details: object) -> None:
    await act.log(action, Target("custom_emoji", emoji.id, emoji.shortcode), "", **details)
