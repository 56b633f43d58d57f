"""The page of custom emoji: uploaded, changed, disabled and removed."""

from __future__ import annotations

from ...actors.commands.custom_emojis import AddEmoji, ChangeEmoji, EmojiChanges, NewEmoji, RemoveEmoji
from ...actors.rules.roles import Permission
from ...storage import custom_emojis
from ..access.context import find_row
from ..admin.custom_emojis import ChangedEmoji, UploadedEmoji, files_of
from ..entities.custom_emoji import emoji_fields
from ..intake.parameters import Flag
from ..views import uploads
from .member import DangerousForm, Question, StaffForm, StaffMember
from .staff_page import Facts, ListQuery, StaffPage, listed

PATH = "/admin/emoji"
HERE = ""  # the URLs of pictures are relative
EMOJIS = StaffPage(
    PATH,
    Permission.MANAGE_CUSTOM_EMOJIS,
    {
        "added": "The emoji was added.",
        "changed": "The emoji was changed.",
        "disabled": "The emoji can't be used any more.",
        "enabled": "The emoji can be used again.",
        "removed": "The emoji was removed.",
    },
)


class EmojiForm(StaffForm, UploadedEmoji):
    """An emoji to add."""


class ChangedEmojiForm(StaffForm, ChangedEmoji):
    """The new values of an emoji. Without a picture, the picture does not change."""


class AbleForm(StaffForm):
    disabled: Flag = False


@EMOJIS.get("emoji.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the emoji, the newest first, and the form that adds an emoji."""
    found, links = await listed(me, wanted, custom_emojis.page)
    return {"emojis": [(emoji, emoji_fields(emoji, HERE)["static_url"]) for emoji in found], "page_links": links}


@EMOJIS.post(body_limit=uploads.EMOJI_BODY)
async def add(me: StaffMember, posted: EmojiForm) -> str:
    """Add an emoji. A separate process encodes its picture again."""
    shortcode, changes = posted.name(), posted.changes()
    async with uploads.emoji(me.context, me.user.account_id, posted.image) as made:
        await me.ask(AddEmoji(me.staff, NewEmoji(shortcode, files_of(made), changes)))
    return "added"


@EMOJIS.post("/<id>/change", body_limit=uploads.EMOJI_BODY)
async def change(me: StaffMember, id: int, posted: ChangedEmojiForm) -> str:
    """Change the category, the visibility in pickers, or the picture. The name can't change, because texts use it."""
    changes = EmojiChanges(posted.changes().category, bool(posted.visible_in_picker))
    if posted.image is None or posted.image.size == 0:
        await me.ask(ChangeEmoji(me.staff, id, changes))
    else:
        async with uploads.emoji(me.context, me.user.account_id, posted.image) as made:
            await me.ask(ChangeEmoji(me.staff, id, changes, files_of(made)))
    return "changed"


@EMOJIS.post("/<id>/able")
async def able(me: StaffMember, id: int, posted: AbleForm) -> str:
    """Disable or enable an emoji."""
    await me.ask(ChangeEmoji(me.staff, id, EmojiChanges(disabled=posted.disabled)))
    return "disabled" if posted.disabled else "enabled"


@EMOJIS.post("/<id>/remove")
async def remove(me: StaffMember, id: int, posted: DangerousForm) -> str:
    """Remove an emoji with its files."""
    found = await find_row(me.context, custom_emojis.find, id)
    warning = "Its files are deleted. Texts that have its name in colons show the name alone."
    await me.confirm(posted, Question(f"Remove the emoji {found.shortcode}", warning, "Remove", PATH))
    await me.ask(RemoveEmoji(me.staff, id))
    return "removed"
