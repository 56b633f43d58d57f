"""Polls: shown and voted in. They are made and changed with their statuses."""

from __future__ import annotations

from ...actors.commands.polls import Vote
from ...actors.statuses import Shown
from ...storage import polls
from ..answer import Answer, json
from ..authentication import Viewer
from ..entities.poll import poll_fields
from ..entities.status import NO_FLAGS
from ..errors import NotFound, missing
from ..house import House
from ..parameters import Input, Numbers
from ..routing import api
from ..showing import find_visible, flags_of


class Ballot(Input):
    choices: Numbers = ()


@api.get("/api/v1/polls/<id>", scopes=("read:statuses",))
async def show_poll(house: House, viewer: Viewer | None, id: int) -> Answer:
    """A poll; without a token those of public statuses alone."""
    return await _answer(house, viewer, await _find_asking(house, viewer, id))


@api.post("/api/v1/polls/<id>/votes", auth="user", scopes=("write:statuses",))
async def vote(house: House, viewer: Viewer, id: int, ballot: Ballot) -> Answer:
    """All the choices or none; the poll with them."""
    if not ballot.choices:
        raise missing("choices")
    asking = await _find_asking(house, viewer, id)
    await viewer.ask(Vote(asking.id, id, ballot.choices))
    return await _answer(house, viewer, await find_visible(house, viewer, asking.id))


async def _find_asking(house: House, viewer: Viewer | None, poll_id: int) -> Shown:
    """The status that a poll belongs to, if the viewer may see it."""
    status_id = await house.database.read(polls.status_of, poll_id)
    if status_id is None:
        raise NotFound
    shown = await find_visible(house, viewer, status_id)
    if viewer is None and shown.status.visibility != "public":
        raise NotFound
    return shown


async def _answer(house: House, viewer: Viewer | None, asking: Shown) -> Answer:
    poll = asking.status.poll
    if poll is None:
        raise NotFound  # edited away a moment ago
    if viewer is None:
        return json(poll_fields(poll, house.clock.now(), None, ()))
    flags = (await flags_of(viewer, [asking])).get(asking.id, NO_FLAGS)
    return json(poll_fields(poll, house.clock.now(), viewer.account_id, flags.votes))
