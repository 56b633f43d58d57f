"""Statuses: published, shown with their threads, and deleted."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson

from ...actors.commands.scheduled_statuses import ScheduleStatus
from ...actors.commands.statuses import DeleteStatus, PublishStatus, UnexpectedMentions
from ...actors.rules import attachments, lengths, limits, text
from ...actors.rules.polls import PollTerms, complaints
from ...actors.shown.statuses import ShownStatus
from ...storage.scheduled_statuses import ScheduledStatus
from ...storage.statuses import Status
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array, json
from ..answers.errors import NotFound, Unprocessable, invalid
from ..entities.status import deleted_status_json
from ..entities.status_version import scheduled_status_fields
from ..intake.parameters import (
    Choice,
    Count,
    Flag,
    Ids,
    IdsAsWritten,
    Input,
    Maybe,
    MaybeFlag,
    MaybeIds,
    MaybeText,
    Prose,
    StatusId,
    Texts,
    is_id,
)
from ..intake.request import Request
from ..router import api
from ..views import statuses as views
from ..views.accounts import render_accounts
from ..views.resolving import resolve_mentions
from ..views.threads import thread_around
from .scheduled_statuses import Scheduled

MOST_AT_ONCE = 40
LONGEST_KEY = 255
LONGEST_NAMED = 40  # characters in the error for a value that can't be an id
UNEXPECTED = "Post would be sent to unexpected accounts"


class PollForm(Input):
    options: Texts = ()
    expires_in: Count = None
    multiple: Flag = False
    hide_totals: Flag = False

    def terms(self) -> PollTerms:
        options = tuple(title for option in self.options if (title := text.one_line(option)))
        return PollTerms(options, self.expires_in, self.multiple, self.hide_totals)


class Writing(Input):
    """The parameters that a new status and an edit share."""

    status: Prose = ""
    spoiler_text: Prose = ""
    sensitive: MaybeFlag = None
    language: MaybeText = None
    content_type: MaybeText = None
    media_ids: IdsAsWritten = ()
    poll: Annotated[PollForm | None, Maybe] = None
    quote_approval_policy: Annotated[Literal["public", "followers", "nobody"] | None, Choice] = None

    def media(self) -> tuple[int, ...]:
        """Return the ids of the attachments, each once. A value that can't be an id gets the error of an unknown id."""
        written = dict.fromkeys(id for id in self.media_ids if id)
        if wrong := [id[:LONGEST_NAMED] for id in written if not is_id(id)]:
            raise Unprocessable(attachments.not_found(wrong[: limits.STATUS_MEDIA]))
        return tuple(dict.fromkeys(map(int, written)))

    def check(self) -> None:
        """Raise 422 for values that no status can have."""
        media = self.media()
        if self.poll is not None and media:
            raise Unprocessable(f"Cannot attach more than {limits.STATUS_MEDIA} files")
        if lengths.is_too_long(self.status, self.spoiler_text):
            raise invalid(f"Text character limit of {limits.STATUS_CHARACTERS} exceeded")


class StatusForm(Writing, Scheduled):
    visibility: Annotated[Literal["public", "unlisted", "private", "direct"] | None, Choice] = None
    in_reply_to_id: StatusId = None
    quoted_status_id: StatusId = None
    allowed_mentions: MaybeIds = None

    def check(self) -> None:
        """Raise 422 also for a status without content, and for media or a poll beside a quote."""
        super().check()
        media, quotes = self.media(), self.quoted_status_id is not None
        if quotes and (self.poll is not None or media):
            raise invalid(attachments.BESIDE_A_QUOTE)
        if not (self.status or self.spoiler_text or media or quotes):
            raise invalid("Text can't be blank")
        if self.poll is not None and (wrong := list(complaints(self.poll.terms()))):
            raise invalid(*wrong)

    def allowed(self) -> tuple[int, ...] | None:
        """Return the accounts that may be mentioned; None for all. A status has fewer mentions than characters."""
        ids = self.allowed_mentions
        return None if ids is None else tuple(dict.fromkeys(ids))[: limits.STATUS_CHARACTERS]


class Deletion(Input):
    delete_media: Flag = False


class StatusIdsQuery(Input):
    id: Ids = ()


@api.post(
    "/api/v1/statuses",
    auth="user",
    scopes=("write:statuses",),
    rates=(rates.STATUSES,),
    returns="Status|ScheduledStatus",
)
async def publish(context: HttpContext, request: Request, viewer: Viewer, new: StatusForm) -> Answer:
    """Publish a status, now or at a later time. Requests with equal Idempotency-Keys make only one status."""
    new.check()
    post, at = _post(request, viewer, new), new.moment()
    await resolve_mentions(context, new.status, new.content_type)
    wanted = ScheduleStatus(post, at) if at is not None and at > context.clock.now() else post
    made = await viewer.ask(wanted)
    if isinstance(made, UnexpectedMentions):
        return await _refuse_mentions(context, made)
    if isinstance(made, ScheduledStatus):
        return json(scheduled_status_fields(made, context.settings.base_url))
    return Answer(await views.render(context, viewer, await _shown(context, made)))


def _post(request: Request, viewer: Viewer, new: StatusForm) -> PublishStatus:
    return PublishStatus(
        text=new.status,
        visibility=new.visibility,
        sensitive=new.sensitive,
        spoiler_text=new.spoiler_text,
        language=new.language or None,
        in_reply_to_id=new.in_reply_to_id,
        quoted_status_id=new.quoted_status_id,
        content_type=new.content_type,
        media_ids=new.media(),
        poll=None if new.poll is None else new.poll.terms(),
        quote_policy=new.quote_approval_policy,
        allowed_mentions=new.allowed(),
        application_id=viewer.token.application_id,
        idempotency_key=_idempotency_key(request),
    )


async def _refuse_mentions(context: HttpContext, unexpected: UnexpectedMentions) -> Answer:
    """Return the error with the accounts, so that the client can ask the user for confirmation."""
    error, bodies = orjson.dumps(UNEXPECTED), await render_accounts(context, unexpected.account_ids)
    return Answer(b'{"error":%b,"unexpected_accounts":[%b]}' % (error, b",".join(bodies)), 422)


@api.get("/api/v1/statuses", scopes=("read:statuses",), returns="[Status]")
async def show_several(context: HttpContext, viewer: Viewer | None, wanted: StatusIdsQuery) -> Answer:
    """The statuses that exist and that the viewer may see, in the order of the ids."""
    perspective = await views.perspective_of(viewer)
    found = await views.visible_among(context, wanted.id[:MOST_AT_ONCE], perspective)
    return array(await views.render_all(context, viewer, found))


@api.get("/api/v1/statuses/<id>", scopes=("read:statuses",), returns="Status")
async def show(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """A status."""
    return await views.answer_with(context, viewer, id)


@api.delete(
    "/api/v1/statuses/<id>", auth="user", scopes=("write:statuses",), rates=(rates.DELETIONS,), returns="Status"
)
async def delete(context: HttpContext, viewer: Viewer, id: int, deletion: Deletion) -> Answer:
    """Delete a status. The answer has its source text, so that the user can write it again."""
    deleted = await viewer.ask(DeleteStatus(id, deletion.delete_media))
    shown = await _shown(context, deleted)
    author = await views.part_of(context, viewer, ())
    return Answer(deleted_status_json(shown, context.rendered, context.settings.base_url, author))


@api.get("/api/v1/statuses/<id>/context", scopes=("read:statuses",), returns="Context")
async def show_context(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """The thread around a status: the statuses that it answers, and the answers to it."""
    shown = await views.find_visible(context, viewer, id)
    if viewer is not None:
        context.federation.resolver.complete_later((shown.boosted or shown).status.uri)
    thread = await thread_around(context, shown.id, await views.perspective_of(viewer))
    above = await views.render_all(context, viewer, thread.above)
    below = await views.render_all(context, viewer, thread.below)
    return Answer(b'{"ancestors":[%b],"descendants":[%b]}' % (b",".join(above), b",".join(below)))


async def _shown(context: HttpContext, status: Status) -> ShownStatus:
    """Return a status of the viewer, which may not be in the cache."""
    author = await context.accounts.find(status.account_id)
    if author is None:
        raise NotFound
    return await context.statuses.show_row(status, author)


def _idempotency_key(request: Request) -> str | None:
    key = request.header(b"idempotency-key")
    return key[:LONGEST_KEY] if key else None
