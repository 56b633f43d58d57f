"""The page of the description and the privacy policy, and what the pages of the operator's texts share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import trio

from ...actors.kernel import Refused
from ...actors.policy_changes import version_of, write_text
from ...actors.rules.roles import Permission
from ...storage.policies import LARGEST_FILE, PolicyFiles, UnusablePolicies, read_policies
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Choice, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_SETTINGS
PATH = "/admin/texts"
LARGEST_FORM = 4 * LARGEST_FILE  # a character of two bytes takes six in a form
DONE = {"changed": "The text is changed. Visitors see it from now on."}


class TextChangeForm(StaffForm):
    """A form with a text to change. `opened` is the version of it that the page was opened with."""

    opened: Text = ""


class TextForm(TextChangeForm):
    """A text in Markdown. An empty one takes the file away."""

    name: Annotated[Literal["description", "privacy"], Choice]
    text: Text = ""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, after: Done) -> Answer:
    """Show both texts with their forms."""
    return await _page(await staff_member(context, request, PERMISSION), done=words_of(after, DONE))


@api.post(PATH, page=True, body_limit=LARGEST_FORM)
async def change(context: HttpContext, request: Request, posted: TextForm) -> Answer:
    """Change one of the texts."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await attempt_change(me, write_text, posted.name, as_file(posted.text), read=posted.opened or None)
    if problem is not None:
        return await _page(me, problem=problem, typed={posted.name: posted.text})
    return redirect(with_done(PATH, "changed"))


def folder_of(context: HttpContext) -> Path:
    return context.settings.data / "texts"


def as_file(text: str) -> bytes:
    """Return the text of a form as a file has it: browsers end lines with two characters."""
    return text.replace("\r\n", "\n").encode()


async def attempt_change(
    me: StaffMember, act: Callable[..., Awaitable[object]], *args: object, **more: object
) -> str | None:
    """Do an act on the texts. Return the sentence of its refusal, or None when it was done. Raises NotFound."""
    try:
        await me.act(act, folder_of(me.context), *args, **more)
    except Refused as refused:
        return sentence_of(refused)
    # The notice of the commit comes to every server soon. This one has the change before the answer.
    me.context.policies.forget()
    return None


async def files_of(context: HttpContext) -> tuple[PolicyFiles, str | None]:
    """Return the files, and why they can't be used if they can't: then there are none."""
    try:
        return await trio.to_thread.run_sync(read_policies, folder_of(context)), None
    except UnusablePolicies as error:
        return PolicyFiles(), f"The texts can't be read, and visitors see those before: {error}."


# `Any`: facts of a template.
async def _page(me: StaffMember, *, typed: dict[str, str] | None = None, **facts: Any) -> Answer:
    files, trouble = await files_of(me.context)
    stored = {
        name: "" if source is None else source.markdown
        for name, source in (("description", files.description), ("privacy", files.privacy))
    }
    return me.page(
        "texts.html",
        trouble=trouble,
        texts=stored | (typed or {}),
        versions={name: version_of(text) for name, text in stored.items()},
        most=LARGEST_FILE,
        **facts,
    )
