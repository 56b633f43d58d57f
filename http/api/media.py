"""Media attachments: uploaded, described, and deleted before a status has them."""

from __future__ import annotations

from ...actors.commands.media import AddMedia, AddWaitingMedia, DeleteMedia, DescribeMedia, failed
from ...actors.rules import lengths, limits
from ...storage import media
from ...storage.media import Media
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import NotFound, invalid
from ..entities.media import media_fields
from ..intake.parameters import Focus, Input, MaybeProse, MaybeUpload
from ..router import api
from ..views import uploads

SCOPES = ("write:media",)
LONGEST_DESCRIPTION = 10_000  # code points; one visible character may have many


class Described(Input):
    thumbnail: MaybeUpload = None
    description: MaybeProse = None
    focus: Focus = None

    def check(self) -> None:
        """Raise 422 if the description is too long."""
        text, most = self.description or "", limits.MEDIA_DESCRIPTION_CHARACTERS
        if len(text) > LONGEST_DESCRIPTION or lengths.graphemes(text) > most:
            raise invalid(f"Description is too long (maximum is {most} characters)")


class NewMedia(Described):
    file: MaybeUpload = None


@api.post(
    "/api/v1/media",
    auth="user",
    scopes=SCOPES,
    rates=(rates.MEDIA,),
    body_limit=uploads.MEDIA_BODY,
    returns="MediaAttachment",
)
async def upload_and_wait(context: HttpContext, viewer: Viewer, new: NewMedia) -> Answer:
    """Upload a file, and answer when it is processed; 202 if processing takes very long or must be retried later."""
    medium = await _upload(context, viewer, new)
    if medium.state == "waiting":
        await context.media.finished(medium.id)
        medium = await _own(context, viewer, medium.id)
    return _answer(context, medium, unfinished=202)


@api.post(
    "/api/v2/media",
    auth="user",
    scopes=SCOPES,
    rates=(rates.MEDIA,),
    body_limit=uploads.MEDIA_BODY,
    returns="MediaAttachment",
)
async def upload(context: HttpContext, viewer: Viewer, new: NewMedia) -> Answer:
    """Upload a file. 200 for images, which are ready; 202 for video and sound, which are processed later."""
    medium = await _upload(context, viewer, new)
    context.media.wake()
    return _answer(context, medium, unfinished=202)


async def _upload(context: HttpContext, viewer: Viewer, new: NewMedia) -> Media:
    new.check()
    async with (
        uploads.received(context, viewer.account_id, new.file) as incoming,
        uploads.thumbnail(context, viewer, new.thumbnail) as small,
    ):
        description, focus = new.description or "", _point(new.focus)
        if incoming.kind is not None and incoming.kind.type != "image":
            id = context.ids.next()
            await context.media.put_off(incoming, id)
            node = context.media.folder.node
            return await viewer.ask(AddWaitingMedia(id, incoming.kind.type, node, small, description, focus))
        made = await uploads.make(context, incoming, "image")
        if small is not None:
            made = await uploads.exchange_thumbnail(context, made, small)
        return await viewer.ask(AddMedia(made, description, focus))


@api.get("/api/v1/media/<id>", auth="user", scopes=SCOPES, returns="MediaAttachment")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Show an attachment that no published status has; 206 until it is processed."""
    return _answer(context, await _own(context, viewer, id))


@api.put(
    "/api/v1/media/<id>",
    auth="user",
    scopes=SCOPES,
    file_rates=(rates.MEDIA,),
    body_limit=uploads.THUMBNAIL_BODY,
    returns="MediaAttachment",
)
async def describe(context: HttpContext, viewer: Viewer, id: int, described: Described) -> Answer:
    """Describe an attachment that no published status has."""
    described.check()
    await _own(context, viewer, id)
    async with uploads.thumbnail(context, viewer, described.thumbnail) as small:
        changed = await viewer.ask(DescribeMedia(id, described.description, _point(described.focus), small))
    return _answer(context, changed)


@api.delete("/api/v1/media/<id>", auth="user", scopes=SCOPES, returns="{}")
async def delete(viewer: Viewer, id: int) -> Answer:
    await viewer.ask(DeleteMedia(id))
    return EMPTY


async def _own(context: HttpContext, viewer: Viewer, id: int) -> Media:
    medium = await context.database.read(media.find, id)
    if medium is None or medium.account_id != viewer.account_id or not medium.changeable:
        raise NotFound
    if medium.state == "failed":
        raise failed(medium)
    return medium


def _point(focus: tuple[float, float] | None) -> dict[str, float] | None:
    return None if focus is None else {"x": focus[0], "y": focus[1]}


def _answer(context: HttpContext, medium: Media, unfinished: int = 206) -> Answer:
    status = 200 if medium.state == "ready" else unfinished
    return json(media_fields(medium, context.settings.base_url), status)
