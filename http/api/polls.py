"""Polls: shown and voted in. They are made and changed with their statuses."""

from __future__ import annotations

from datetime import timedelta

from ...actors.commands.polls import Vote
from ...actors.shown.statuses import ShownStatus
from ...storage import polls
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, missing
from ..entities.custom_emoji import emojis_of_poll
from ..entities.status import NO_FLAGS, poll_fields
from ..intake.parameters import Input, Numbers
from ..router import api
from ..views.statuses import find_visible, part_of

COUNTED_FOR = timedelta(days=1)  # after the end of a poll on another server


class Ballot(Input):
    choices: Numbers = ()


@api.get("/api/v1/polls/<id>", scopes=("read:statuses",), returns="Poll")
async def show_poll(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """A poll. Without a token only polls of public statuses are shown.

    The votes of a poll on another server are requested until a day after its end; later answers have them.
    """
    asking = await _find_asking(context, viewer, id)
    poll = asking.status.poll
    if viewer is not None and poll is not None and not poll.expired(context.clock.now() - COUNTED_FOR):
        context.federation.resolver.recount_later(asking.status.uri)
    return await _answer(context, viewer, asking)


@api.post("/api/v1/polls/<id>/votes", auth="user", scopes=("write:statuses",), returns="Poll")
async def vote(context: HttpContext, viewer: Viewer, id: int, ballot: Ballot) -> Answer:
    """Vote for all given choices at once, and show the poll."""
    if not ballot.choices:
        raise missing("choices")
    asking = await _find_asking(context, viewer, id)
    await viewer.ask(Vote(asking.id, id, ballot.choices))
    return await _answer(context, viewer, await find_visible(context, viewer, asking.id))


async def _find_asking(context: HttpContext, viewer: Viewer | None, poll_id: int) -> ShownStatus:
    """Return the status of a poll, if the viewer may see it. Raises NotFound."""
    status_id = await find_row(context, polls.status_of, poll_id)
    shown = await find_visible(context, viewer, status_id)
    if viewer is None and shown.status.visibility != "public":
        raise NotFound
    return shown


async def _answer(context: HttpContext, viewer: Viewer | None, asking: ShownStatus) -> Answer:
    poll = asking.status.poll
    if poll is None:
        raise NotFound  # edited away a moment ago
    emojis = emojis_of_poll(asking.status, context.rendered.emojis, context.settings.base_url)
    if viewer is None:
        return json(poll_fields(poll, context.clock.now(), None, (), emojis))
    flags = (await part_of(context, viewer, [asking])).flags.get(asking.id, NO_FLAGS)
    return json(poll_fields(poll, context.clock.now(), viewer.account_id, flags.votes, emojis))
