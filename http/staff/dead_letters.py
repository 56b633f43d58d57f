"""The page of dead letters, which are messages that crashed their actor twice: shown, replayed and dropped."""

from __future__ import annotations

from ...actors.housekeeping.dead_letters import replay
from ...actors.housekeeping.masking import masked
from ...actors.kernel import KernelError, Refused
from ...actors.kernel.codec import Unreadable
from ...actors.rules.roles import Permission
from ...actors.staff import repairs
from ...storage import dead_letters
from ..access.context import find_row
from ..answers.answer import Answer
from ..intake.parameters import Flag, Input
from .member import DangerousForm, Question, StaffForm, StaffMember
from .staff_page import Facts, ListQuery, StaffPage, listed

PATH = "/admin/dead_letters"
PATIENCE = 4.0  # seconds for a replayed message
LETTERS = StaffPage(
    PATH,
    Permission.VIEW_DEVOPS,
    {
        "replayed": "The message was handled and is no longer a dead letter.",
        "dropped": "The message was dropped.",
    },
)
LETTER = StaffPage(f"{PATH}/<id>", Permission.VIEW_DEVOPS)


class ShownTexts(Input):
    """With `texts`, texts of people are not masked."""

    texts: Flag = False


@LETTERS.get("dead_letters.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show dead letters, the latest first."""
    found, links = await listed(me, wanted, dead_letters.page)
    errors = {letter.id: me.context.operations.without_texts(letter.error) for letter in found}
    return {"letters": found, "errors": errors, "page_links": links}


@LETTER.get("dead_letter.html")
async def show_one(me: StaffMember, id: int, wanted: ShownTexts) -> Facts:
    """Show a dead letter. Texts of people are masked by default."""
    letter = await find_row(me.context, dead_letters.find, id)
    return {
        "letter": letter,
        "error": letter.error if wanted.texts else me.context.operations.without_texts(letter.error),
        "contents": letter.message if wanted.texts else masked(letter.message),
        "texts": wanted.texts,
    }


@LETTER.post("/replay")
async def send_again(me: StaffMember, id: int, posted: StaffForm) -> Answer:
    """Replay the message, and delete the letter when it is handled."""
    letter = await find_row(me.context, dead_letters.find, id)
    try:
        await replay(me.context.runtime, letter, PATIENCE)
    except Refused:
        pass  # handled: the actor refused the message, and did not crash
    except Unreadable:
        raise Refused(422, "This version of the server can't read the message.") from None
    except KernelError as error:
        why = type(error).__name__
        raise Refused(422, f"{letter.address} has not handled it, so it stays ({why}).") from None
    await me.act(repairs.delete_replayed, letter)
    return LETTERS.after("replayed")


@LETTER.post("/drop")
async def drop(me: StaffMember, id: int, posted: DangerousForm) -> Answer:
    """Delete a dead letter."""
    letter = await find_row(me.context, dead_letters.find, id)
    warning = "The message is never handled."
    await me.confirm(posted, Question(f"Drop {letter.kind} to {letter.address}", warning, "Drop", f"{PATH}/{id}"))
    await me.act(repairs.drop_letters, [id])
    return LETTERS.after("dropped")
