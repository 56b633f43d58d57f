"""The page of custom emoji: uploaded, changed, disabled and removed."""

from __future__ import annotations

from typing import Any

from ...actors.commands.custom_emojis import AddEmoji, ChangeEmoji, EmojiChanges, NewEmoji, RemoveEmoji
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage import custom_emojis
from ..access.context import HttpContext, find_row
from ..admin.custom_emojis import ChangedEmoji, UploadedEmoji, files_of
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..entities.custom_emoji import emoji_fields
from ..intake.paging import Paged
from ..intake.parameters import Flag
from ..intake.request import Request
from ..router import api
from ..views import uploads
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import (
    DangerousForm,
    Question,
    StaffForm,
    StaffMember,
    sentence_of,
    staff_member,
    staff_sender,
)

PERMISSION = Permission.MANAGE_CUSTOM_EMOJIS
PATH = "/admin/emoji"
HERE = ""  # pictures are named without the server
DONE = {
    "added": "The emoji was added.",
    "changed": "The emoji was changed.",
    "disabled": "The emoji can't be used any more.",
    "enabled": "The emoji can be used again.",
    "removed": "The emoji was removed.",
}


class EmojiQuery(Paged, Done):
    """A page of emoji."""


class EmojiForm(StaffForm, UploadedEmoji):
    """An emoji to add."""


class ChangedEmojiForm(StaffForm, ChangedEmoji):
    """The new values of an emoji. Without a picture it keeps its own; a box that is not ticked is not sent."""


class AbleForm(StaffForm):
    disabled: Flag = False


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: EmojiQuery) -> Answer:
    """Show the emoji, the newest first, and the form that adds one."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post(PATH, page=True, body_limit=uploads.EMOJI_BODY)
async def add(context: HttpContext, request: Request, posted: EmojiForm) -> Answer:
    """Add an emoji. Its picture is made anew, in a process of its own."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        shortcode, changes = posted.name(), posted.changes()
        async with uploads.emoji(context, me.user.account_id, posted.image) as made:
            await me.ask(AddEmoji(me.staff, NewEmoji(shortcode, files_of(made), changes)))
    except (HttpError, Refused) as error:
        return await _page(me, EmojiQuery(), problem=sentence_of(error))
    return redirect(with_done(PATH, "added"))


@api.post(f"{PATH}/<id>/change", page=True, body_limit=uploads.EMOJI_BODY)
async def change(context: HttpContext, request: Request, id: int, posted: ChangedEmojiForm) -> Answer:
    """Change the category of an emoji, whether pickers show it, or its picture. Its name stays: texts have it."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        changes = EmojiChanges(posted.changes().category, bool(posted.visible_in_picker))
        if posted.image is None or posted.image.size == 0:
            await me.ask(ChangeEmoji(me.staff, id, changes))
        else:
            async with uploads.emoji(context, me.user.account_id, posted.image) as made:
                await me.ask(ChangeEmoji(me.staff, id, changes, files_of(made)))
    except (HttpError, Refused) as error:
        return await _page(me, EmojiQuery(), problem=sentence_of(error))
    return redirect(with_done(PATH, "changed"))


@api.post(f"{PATH}/<id>/able", page=True)
async def able(context: HttpContext, request: Request, id: int, posted: AbleForm) -> Answer:
    """Disable an emoji, or enable it."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(ChangeEmoji(me.staff, id, EmojiChanges(disabled=posted.disabled)))
    if problem is not None:
        return await _page(me, EmojiQuery(), problem=problem)
    return redirect(with_done(PATH, "disabled" if posted.disabled else "enabled"))


@api.post(f"{PATH}/<id>/remove", page=True)
async def remove(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Remove an emoji with its files."""
    me = await staff_sender(context, request, posted, PERMISSION)
    found = await find_row(context, custom_emojis.find, id)
    warning = "Its files are deleted. Texts that have its name in colons show the name alone."
    question = Question(f"Remove the emoji {found.shortcode}", warning, "Remove", PATH)
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    problem = await me.attempt(RemoveEmoji(me.staff, id))
    return redirect(with_done(PATH, "removed")) if problem is None else await _page(me, EmojiQuery(), problem=problem)


# `Any`: facts of a template.
async def _page(me: StaffMember, wanted: EmojiQuery, **facts: Any) -> Answer:
    page = wanted.page(ON_A_PAGE)
    found = await me.context.database.read(custom_emojis.page, page)
    return me.page(
        "emoji.html",
        emojis=[(one, emoji_fields(one, HERE)["static_url"]) for one in found],
        page_links=page_links(me.request, page, [one.id for one in found]),
        **facts,
    )
