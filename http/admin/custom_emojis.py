"""The custom emoji of this server for staff. The reference server only has pages for them."""

from __future__ import annotations

from ...actors.commands.custom_emojis import (
    AddEmoji,
    ChangeEmoji,
    EmojiChanges,
    EmojiFiles,
    NewEmoji,
    RemoveEmoji,
)
from ...actors.rules.emojis import CATEGORY_CHARACTERS, SHORTCODE, is_category
from ...actors.rules.roles import Permission
from ...storage import custom_emojis
from ...storage.custom_emojis import CustomEmoji
from ...storage.media import ProcessedMedia
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.custom_emoji import managed_emoji_fields
from ..intake.paging import Paged
from ..intake.parameters import Input, MaybeFlag, MaybeLine, MaybeText, MaybeUpload
from ..intake.request import Request
from ..router import api
from ..views import uploads
from ..views.staff import listed, staff_of

READ = ("admin:read",)
WRITE = ("admin:write",)
PERMISSION = Permission.MANAGE_CUSTOM_EMOJIS


class ChangedEmoji(Input):
    """The new values of an emoji. A parameter that is not sent keeps its value."""

    image: MaybeUpload = None
    category: MaybeLine = None
    visible_in_picker: MaybeFlag = None
    disabled: MaybeFlag = None

    def changes(self) -> EmojiChanges:
        if self.category and not is_category(self.category):
            raise invalid(f"Category must have at most {CATEGORY_CHARACTERS} characters that can be printed")
        return EmojiChanges(self.category, self.visible_in_picker, self.disabled)


class UploadedEmoji(ChangedEmoji):
    """An emoji to add."""

    shortcode: MaybeText = None

    def name(self) -> str:
        if not self.shortcode:
            raise invalid("Shortcode can't be blank")
        if not SHORTCODE.fullmatch(self.shortcode):
            raise invalid("Shortcode must have 2 to 100 letters a to z, digits and underscores")
        return self.shortcode


@api.get("/api/v1/admin/custom_emojis", auth="user", scopes=READ, permission=PERMISSION, returns="[Admin.CustomEmoji]")
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    """All emoji, including disabled emoji, the newest first."""
    rows, links = await listed(context, request, paged, custom_emojis.page)
    return json([managed_emoji_fields(emoji, context.settings.base_url) for emoji in rows], headers=links)


@api.get(
    "/api/v1/admin/custom_emojis/<id>", auth="user", scopes=READ, permission=PERMISSION, returns="Admin.CustomEmoji"
)
async def show(context: HttpContext, id: int) -> Answer:
    return _answer(context, await find_row(context, custom_emojis.find, id))


@api.post(
    "/api/v1/admin/custom_emojis",
    auth="user",
    scopes=WRITE,
    permission=PERMISSION,
    body_limit=uploads.EMOJI_BODY,
    returns="Admin.CustomEmoji",
)
async def add(context: HttpContext, viewer: Viewer, wanted: UploadedEmoji) -> Answer:
    """Add an emoji. A separate process encodes its picture again."""
    shortcode, changes = wanted.name(), wanted.changes()
    staff = await staff_of(context, viewer)
    async with uploads.emoji(context, viewer.account_id, wanted.image) as made:
        return _answer(context, await viewer.ask(AddEmoji(staff, NewEmoji(shortcode, files_of(made), changes))))


@api.put(
    "/api/v1/admin/custom_emojis/<id>",
    auth="user",
    scopes=WRITE,
    permission=PERMISSION,
    body_limit=uploads.EMOJI_BODY,
    returns="Admin.CustomEmoji",
)
async def change(context: HttpContext, viewer: Viewer, id: int, wanted: ChangedEmoji) -> Answer:
    """Change an emoji. Its name can't change, because texts use it."""
    changes, staff = wanted.changes(), await staff_of(context, viewer)
    await find_row(context, custom_emojis.find, id)
    if wanted.image is None:
        return _answer(context, await viewer.ask(ChangeEmoji(staff, id, changes)))
    async with uploads.emoji(context, viewer.account_id, wanted.image) as made:
        return _answer(context, await viewer.ask(ChangeEmoji(staff, id, changes, files_of(made))))


@api.delete("/api/v1/admin/custom_emojis/<id>", auth="user", scopes=WRITE, permission=PERMISSION, returns="{}")
async def remove(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RemoveEmoji(await staff_of(context, viewer), id))
    return EMPTY


def files_of(made: ProcessedMedia) -> EmojiFiles:
    return EmojiFiles(made.file, made.thumbnail_file or made.file)


def _answer(context: HttpContext, emoji: CustomEmoji) -> Answer:
    return json(managed_emoji_fields(emoji, context.settings.base_url))
