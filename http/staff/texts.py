"""The page of the description and the privacy policy, and functions for all pages of the operator's texts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Literal

import trio

from ...actors.rules.roles import Permission
from ...actors.staff.operator_texts import version_of, write_text
from ...storage.operator_texts import LARGEST_FILE, TextFiles, UnusableTexts, read_texts
from ..access.context import HttpContext
from ..intake.parameters import Choice, Text
from .member import StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage

LARGEST_FORM = 4 * LARGEST_FILE  # a character of two bytes takes six in a form
TEXTS = StaffPage(
    "/admin/texts",
    Permission.MANAGE_SETTINGS,
    {"changed": "The text is changed. Visitors see it from now on."},
)


class TextChangeForm(StaffForm):
    """A form with a text to change. `opened` is the version of the text when the page was opened."""

    opened: Text = ""


class TextForm(TextChangeForm):
    """A text in Markdown. An empty text removes the file."""

    name: Annotated[Literal["description", "privacy"], Choice]
    text: Text = ""


@TEXTS.get("texts.html")
async def show(me: StaffMember, after: Done) -> Facts:
    """Show both texts with their forms."""
    files, trouble = await files_of(me.context)
    stored = {
        name: "" if source is None else source.markdown
        for name, source in (("description", files.description), ("privacy", files.privacy))
    }
    return {
        "trouble": trouble,
        "texts": stored,
        "typed": None,
        "versions": {name: version_of(text) for name, text in stored.items()},
        "most": LARGEST_FILE,
    }


@TEXTS.post(typed="typed", body_limit=LARGEST_FORM)
async def change(me: StaffMember, posted: TextForm) -> str:
    """Change a text."""
    await change_files(me, write_text, posted.name, as_file(posted.text), read=posted.opened or None)
    return "changed"


def folder_of(context: HttpContext) -> Path:
    return context.settings.data / "texts"


def as_file(text: str) -> bytes:
    """Return the text of a form for a file. Browsers send CRLF; files have LF."""
    return text.replace("\r\n", "\n").encode()


async def change_files(me: StaffMember, act: Callable[..., Awaitable[object]], *args: object, **more: object) -> None:
    """Execute an action on the texts. Raises Refused."""
    await me.act(act, folder_of(me.context), *args, **more)
    # Every server reloads soon, on a notification of the commit. This server reloads before the answer.
    me.context.operator_texts.forget()


async def files_of(context: HttpContext) -> tuple[TextFiles, str | None]:
    """Return the files; if they are unusable, no files and the reason."""
    try:
        return await trio.to_thread.run_sync(read_texts, folder_of(context)), None
    except UnusableTexts as error:
        return TextFiles(), f"The texts can't be read, so visitors see the earlier texts: {error}."
