"""The page of an actor: its numbers, turn, mailbox and crashes, and the forms for restart and release."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from ...actors.kernel import Address
from ...actors.kernel.interventions import NothingToDo
from ...actors.rules.roles import Permission
from ...actors.staff.acts import StaffAct, Target
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import Text
from ..intake.request import Request
from ..pages.templates import rendered
from ..router import api
from .live import live
from .member import DangerousForm, Question, StaffMember, admitting, staff_member
from .staff_page import Done, Facts, StaffPage

PERMISSION = Permission.VIEW_DEVOPS
ACTOR = StaffPage(
    "/admin/actor",
    PERMISSION,
    {"restart": "The actor reads its rows again.", "release": "The actor takes messages again."},
)


class ActorAddress(Done):
    """The address of an actor. It is in the query, because the keys of hashtags may be in any script."""

    address: Text = ""


class ActorForm(DangerousForm):
    address: Text = ""


@ACTOR.get("actor.html")
async def show(me: StaffMember, wanted: ActorAddress) -> Facts:
    """Show an actor."""
    address = _address(me.context, wanted.address)
    return {"query": urlencode({"address": str(address)}), **_facts(me, address)}


@api.get("/admin/actor/live", page=True, admit=admitting(PERMISSION))
async def keep_current(context: HttpContext, request: Request, wanted: ActorAddress) -> Answer:
    """Stream the snapshot whenever it changes."""
    me, address = await staff_member(context, request, PERMISSION), _address(context, wanted.address)

    async def render() -> bytes:
        return rendered("staff/actor_part.html", **_facts(me, address))

    return live(me, PERMISSION, render)


@ACTOR.post("/restart")
async def restart(me: StaffMember, posted: ActorForm) -> Answer:
    """Restart an actor: its current turn is cancelled, and it reads its rows again."""
    address = _address(me.context, posted.address)
    warning = "The turn that it is in, if any, is broken off, and its memory is read from the rows again."
    question = Question(f"Restart {address}", warning, "Restart", _path(address))
    await me.confirm(posted, question, [("address", str(address))])
    return await _intervene(me, address, "restart", me.context.runtime.interventions.restart)


@ACTOR.post("/release")
async def release(me: StaffMember, posted: ActorForm) -> Answer:
    """End the quarantine of an actor."""
    address = _address(me.context, posted.address)
    return await _intervene(me, address, "release", me.context.runtime.interventions.release)


async def _intervene(me: StaffMember, address: Address, name: str, act: Callable[[Address], str]) -> Answer:
    try:
        act(address)
    except NothingToDo as error:
        problem = f"{error}.".replace("..", ".")
        return me.page("actor.html", problem=problem, **await show(me, ActorAddress(address=str(address))))
    await me.act(StaffAct.log, f"{name}_actor", Target("actor", None, str(address)))
    return redirect(f"{_path(address)}&done={name}")


def _address(context: HttpContext, text: str) -> Address:
    """Return the parsed address. Raises NotFound for an unknown kind or an empty key."""
    address = Address.parse(text)
    if address.kind not in context.runtime.pools or not address.key:
        raise NotFound
    return address


def _path(address: Address) -> str:
    return f"/admin/actor?{urlencode({'address': str(address)})}"


def _facts(me: StaffMember, address: Address) -> Facts:
    snapshot = me.context.runtime.inspection.actor(address)
    holds = "" if snapshot is None else me.context.operations.without_texts(snapshot.holds)
    return {"address": str(address), "snapshot": snapshot, "holds": holds}
