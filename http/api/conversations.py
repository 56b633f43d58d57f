"""The viewer's threads of direct statuses."""

from __future__ import annotations

from dataclasses import replace

from ...actors.commands.conversations import MarkConversation, NewestConversations, RemoveConversation
from ...actors.shown.conversations import ShownConversation, shown_conversations
from ...actors.shown.statuses import may_see
from ...storage import conversations
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, array
from ..entities.timeline import conversation_json
from ..intake.paging import Paged, links
from ..intake.request import Request
from ..router import api
from ..views.statuses import part_of, perspective_of

WRITE = ("write:conversations",)
ON_A_PAGE = 20


@api.get("/api/v1/conversations", auth="user", scopes=("read:statuses",), returns="[Conversation]")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The conversations of the viewer, the latest first. The cursors are ids of last statuses."""
    page = paged.page(ON_A_PAGE)
    if page == Page(page.limit):
        found = await viewer.ask(NewestConversations(page.limit))
    else:
        found = await context.database.read(conversations.page, viewer.account_id, page)
    shown = await shown_conversations(found, context.accounts, context.statuses)
    ids = [conversation.last_status_id for conversation in found if conversation.last_status_id is not None]
    headers = links(
        context.settings.base_url + request.path, request.query_texts, ids, full=len(found) == page.limit
    )  # fmt: skip
    return array(await _render(context, viewer, shown), headers)


@api.delete("/api/v1/conversations/<id>", auth="user", scopes=WRITE, returns="{}")
async def remove(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RemoveConversation(id))
    return EMPTY


@api.post("/api/v1/conversations/<id>/read", auth="user", scopes=WRITE, returns="Conversation")
async def mark_read(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _mark(context, viewer, MarkConversation(id, unread=False))


@api.post("/api/v1/conversations/<id>/unread", auth="user", scopes=WRITE, returns="Conversation")
async def mark_unread(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _mark(context, viewer, MarkConversation(id, unread=True))


async def _mark(context: HttpContext, viewer: Viewer, message: MarkConversation) -> Answer:
    return Answer((await _render(context, viewer, [await viewer.ask(message)]))[0])


async def _render(context: HttpContext, viewer: Viewer, shown: list[ShownConversation]) -> list[bytes]:
    """Render conversations. A last status that the viewer may not see any more is left out."""
    perspective = await perspective_of(viewer)
    shown = [row if row.last is None or may_see(row.last, perspective) else replace(row, last=None) for row in shown]
    part = await part_of(context, viewer, [row.last for row in shown if row.last is not None])
    return [conversation_json(row, context.rendered, context.settings.base_url, part) for row in shown]
