"""Edits of statuses: made and listed, and the source text for an edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from ...actors.commands.edits import Description, EditStatus, SetQuotePolicy
from ...actors.rules import lengths, limits
from ...actors.rules.polls import about_options, about_time
from ...actors.rules.visibility import visible
from ...storage import edits
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array, in_steps, json
from ..answers.errors import invalid
from ..entities.account import account_json
from ..entities.status import shown_quote_json
from ..entities.status_version import edit_json, only_edit, source_fields
from ..intake.parameters import Choice, Focus, Input, MaybeProse, SeveralForms, StatusId
from ..router import api
from ..views.resolving import resolve_mentions
from ..views.statuses import answer_with, find_visible, part_of, perspective_of
from .statuses import Writing

READ = ("read:statuses",)
WRITE = ("write:statuses",)


class MediaAttributes(Input):
    id: StatusId = None
    description: MaybeProse = None
    focus: Focus = None

    def description_of(self) -> Description | None:
        if self.id is None:
            return None
        focus = None if self.focus is None else {"x": self.focus[0], "y": self.focus[1]}
        return Description(self.id, self.description, focus)


class EditForm(Writing):
    media_attributes: Annotated[tuple[MediaAttributes, ...], SeveralForms] = ()

    def check(self) -> None:
        super().check()
        wrong = []
        if self.poll is not None:
            terms = self.poll.terms()
            wrong = [*about_options(terms.options), *(() if terms.seconds is None else about_time(terms.seconds))]
        longest = limits.MEDIA_DESCRIPTION_CHARACTERS
        if any(lengths.graphemes(media.description or "") > longest for media in self.media_attributes):
            wrong.append(f"Description is too long (maximum is {longest} characters)")
        if wrong:
            raise invalid(*wrong)

    def descriptions(self) -> tuple[Description, ...]:
        found = (media.description_of() for media in self.media_attributes)
        return tuple(description for description in found if description is not None)


class QuotePolicy(Input):
    quote_approval_policy: Annotated[Literal["public", "followers", "nobody"] | None, Choice] = None


@api.put("/api/v1/statuses/<id>", auth="user", scopes=WRITE, rates=(rates.STATUSES,), returns="Status")
async def edit(context: HttpContext, viewer: Viewer, id: int, edit: EditForm) -> Answer:
    """Replace the content of a status. A parameter that is left out empties its field."""
    edit.check()
    await resolve_mentions(context, edit.status, edit.content_type)
    await viewer.ask(
        EditStatus(
            id,
            text=edit.status,
            spoiler_text=edit.spoiler_text,
            sensitive=bool(edit.sensitive),
            language=edit.language or None,
            content_type=edit.content_type,
            media_ids=edit.media(),
            descriptions=edit.descriptions(),
            poll=None if edit.poll is None else edit.poll.terms(),
            quote_policy=edit.quote_approval_policy,
        )
    )
    return await answer_with(context, viewer, id)


@api.put("/api/v1/statuses/<id>/interaction_policy", auth="user", scopes=WRITE, returns="Status")
async def change_quote_policy(context: HttpContext, viewer: Viewer, id: int, policy: QuotePolicy) -> Answer:
    """Change who may quote a status of the viewer. Without a policy nothing changes."""
    if policy.quote_approval_policy is not None:
        await viewer.ask(SetQuotePolicy(id, policy.quote_approval_policy))
    return await answer_with(context, viewer, id)


@api.get("/api/v1/statuses/<id>/history", scopes=READ, returns="[StatusEdit]")
async def show_history(context: HttpContext, viewer: Viewer | None, id: int) -> Answer:
    """The versions of a status, the oldest first.

    An account that an edit has mentioned first sees no earlier version, unless it may see the status for another
    reason. Each version has the current quote.
    """
    shown = await find_visible(context, viewer, id)
    original, perspective = shown.boosted or shown, await perspective_of(viewer)
    base_url = context.settings.base_url
    author = account_json(original.author, context.rendered, base_url)
    found = await context.database.read(edits.history, original.id) or [only_edit(original)]
    seen = [edit for edit in found if visible(replace(original.status, mentioned_ids=edit.mentioned_ids), perspective)]
    part = None if viewer is None else await part_of(context, viewer, [original])
    quote = shown_quote_json(original, context.rendered, base_url, part)
    emojis = context.rendered.emojis
    return array(await in_steps(edit_json(original, edit, author, quote, base_url, emojis) for edit in seen))


@api.get("/api/v1/statuses/<id>/source", auth="user", scopes=READ, returns="StatusSource")
async def show_source(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """The source text of a status, to edit it."""
    shown = await find_visible(context, viewer, id)
    return json(source_fields((shown.boosted or shown).status))
