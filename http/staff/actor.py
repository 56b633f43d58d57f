"""The page of one actor: its state in numbers, its turn, its mailbox, its crashes; restart and release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from ...actors.kernel import Address
from ...actors.kernel.interventions import NothingToDo
from ...actors.rules.roles import Permission
from ...actors.staff import StaffAct, Target
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import Input, Text
from ..intake.request import Request
from ..pages.templates import rendered
from ..router import api
from .live import live
from .member import DangerousForm, Question, StaffMember, staff_member, staff_sender

PERMISSION = Permission.VIEW_DEVOPS
DONE = {"restart": "The actor reads its rows again.", "release": "The actor takes messages again."}


class ActorAddress(Input):
    """Keys of tags may be in any script, so the address is no part of the path."""

    address: Text = ""
    done: Text = ""


class ActorForm(DangerousForm):
    address: Text = ""


@api.get("/admin/actor", page=True)
async def show(context: HttpContext, request: Request, wanted: ActorAddress) -> Answer:
    """Show one actor."""
    me = await staff_member(context, request, PERMISSION)
    return _page(me, _address(context, wanted.address), done=DONE.get(wanted.done))


@api.get("/admin/actor/live", page=True)
async def keep_current(context: HttpContext, request: Request, wanted: ActorAddress) -> Answer:
    """Send the snapshot again when it changes."""
    me, address = await staff_member(context, request, PERMISSION), _address(context, wanted.address)

    async def render() -> bytes:
        return rendered("staff/actor_part.html", **_facts(me, address))

    return live(me, PERMISSION, render)


@api.post("/admin/actor/restart", page=True)
async def restart(context: HttpContext, request: Request, posted: ActorForm) -> Answer:
    """Have an actor read its rows again. A turn that it is in is broken off."""
    me = await staff_sender(context, request, posted, PERMISSION)
    address = _address(context, posted.address)
    warning = "The turn that it is in, if any, is broken off, and its memory is read from the rows again."
    question = Question(f"Restart {address}", warning, "Restart", _path(address))
    if (asking := await me.confirmed(posted, question, [("address", str(address))])) is not None:
        return asking
    return await _intervene(me, address, "restart", context.runtime.interventions.restart)


@api.post("/admin/actor/release", page=True)
async def release(context: HttpContext, request: Request, posted: ActorForm) -> Answer:
    """End the quarantine of an actor."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _intervene(
        me, _address(context, posted.address), "release", context.runtime.interventions.release
    )  # fmt: skip


async def _intervene(me: StaffMember, address: Address, name: str, act: Callable[[Address], str]) -> Answer:
    try:
        act(address)
    except NothingToDo as error:
        return _page(me, address, problem=f"{error}.".replace("..", "."))
    await me.act(StaffAct.log, f"{name}_actor", Target("actor", None, str(address)))
    return redirect(f"{_path(address)}&done={name}")


def _address(context: HttpContext, text: str) -> Address:
    """Return an address as it is written. Raises NotFound for a kind that does not exist."""
    address = Address.parse(text)
    if address.kind not in context.runtime.pools or not address.key:
        raise NotFound
    return address


def _path(address: Address) -> str:
    return f"/admin/actor?{urlencode({'address': str(address)})}"


# `Any`: facts of a template.
def _page(me: StaffMember, address: Address, **facts: Any) -> Answer:
    return me.page("actor.html", query=urlencode({"address": str(address)}), **_facts(me, address), **facts)


# `Any`: facts of a template.
def _facts(me: StaffMember, address: Address) -> dict[str, Any]:
    snapshot = me.context.runtime.inspection.actor(address)
    holds = "" if snapshot is None else me.context.operations.without_texts(snapshot.holds)
    return {"address": str(address), "snapshot": snapshot, "holds": holds}
