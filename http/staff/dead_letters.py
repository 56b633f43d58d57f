"""The page of dead letters: messages that crashed their actor twice; shown, sent again and dropped."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from ...actors import repairs
from ...actors.dead_letters import replay
from ...actors.kernel import KernelError, Refused
from ...actors.kernel.codec import Unreadable
from ...actors.masking import masked
from ...actors.rules.roles import Permission
from ...storage import dead_letters
from ...storage.dead_letters import DeadLetter
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, redirect
from ..intake.paging import Paged
from ..intake.parameters import Flag
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import DangerousForm, Question, StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.VIEW_DEVOPS
PATH = "/admin/dead_letters"
PATIENCE = 4.0  # seconds that a message which is sent again has
DONE = {
    "replayed": "The message was handled and is no longer a dead letter.",
    "dropped": "The message was dropped.",
}


class LetterQuery(Paged, Done):
    """A page of dead letters."""


class ShownTexts(Done):
    """With `texts` the texts that people wrote are shown."""

    texts: Flag = False


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: LetterQuery) -> Answer:
    """Show dead letters, the latest first."""
    me = await staff_member(context, request, PERMISSION)
    page = wanted.page(ON_A_PAGE)
    found = await context.database.read(dead_letters.page, page)
    errors = {one.id: context.operations.without_texts(one.error) for one in found}
    return me.page(
        "dead_letters.html",
        done=words_of(wanted, DONE),
        letters=found,
        errors=errors,
        page_links=page_links(request, page, [one.id for one in found]),
    )


@api.get(f"{PATH}/<id>", page=True)
async def show_one(context: HttpContext, request: Request, id: int, wanted: ShownTexts) -> Answer:
    """Show one, with the texts of people masked unless they are asked for."""
    me = await staff_member(context, request, PERMISSION)
    return _page(me, await find_row(context, dead_letters.find, id), texts=wanted.texts)


@api.post(f"{PATH}/<id>/replay", page=True)
async def send_again(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Send the message again, and delete the letter when it is handled."""
    me = await staff_sender(context, request, posted, PERMISSION)
    letter = await find_row(context, dead_letters.find, id)
    try:
        await replay(context.runtime, letter, PATIENCE)
    except Refused:
        pass  # handled: the actor said no, and did not crash
    except Unreadable:
        return _page(me, letter, problem="This version of the server can't read the message.")
    except KernelError as error:
        why = type(error).__name__
        return _page(me, letter, problem=f"{letter.address} has not handled it, so it stays ({why}).")
    return await _after(me, letter, me.act(repairs.delete_replayed, letter), "replayed")


@api.post(f"{PATH}/<id>/drop", page=True)
async def drop(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Delete a dead letter."""
    me = await staff_sender(context, request, posted, PERMISSION)
    letter = await find_row(context, dead_letters.find, id)
    warning = "What the message wants is never done."
    question = Question(f"Drop {letter.kind} to {letter.address}", warning, "Drop", f"{PATH}/{id}")
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    return await _after(me, letter, me.act(repairs.drop_letters, [id]), "dropped")


async def _after(me: StaffMember, letter: DeadLetter, act: Awaitable[object], words: str) -> Answer:
    try:
        await act
    except Refused as refused:
        return _page(me, letter, problem=sentence_of(refused))
    return redirect(with_done(PATH, words))


# `Any`: facts of a template.
def _page(me: StaffMember, letter: DeadLetter, *, texts: bool = False, **facts: Any) -> Answer:
    return me.page(
        "dead_letter.html",
        letter=letter,
        error=letter.error if texts else me.context.operations.without_texts(letter.error),
        contents=letter.message if texts else masked(letter.message),
        texts=texts,
        **facts,
    )
