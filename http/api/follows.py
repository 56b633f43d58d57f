"""Following and unfollowing accounts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from ...actors.commands.follow_requests import RemoveFollower
from ...actors.commands.follows import Follow, Unfollow
from ...actors.rules.identity import handle_of, without_signs_around
from ...actors.rules.languages import language_code
from ...storage import accounts
from ...storage.relations import Relationship
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import relationship_fields
from ..intake.parameters import Input, MaybeFlag, Several, Text
from ..router import api
from ..views.accounts import account_answer, require_public
from .relations import find_relationship, relationship

WRITE = ("write:follows", "follow")


class FollowForm(Input):
    reblogs: MaybeFlag = None
    notify: MaybeFlag = None
    languages: Annotated[list[Text] | None, Several] = None

    def command(self, id: int) -> Follow:
        codes = None if self.languages is None else dict.fromkeys(map(language_code, self.languages))
        languages = None if codes is None else tuple(code for code in codes if code)
        return Follow(id, self.reblogs, self.notify, languages)


class HandleQuery(Input):
    uri: Text = ""


@api.post("/api/v1/accounts/<id>/follow", auth="user", scopes=WRITE, rates=(rates.FOLLOWS,), returns="Relationship")
async def follow(context: HttpContext, viewer: Viewer, id: int, terms: FollowForm) -> Answer:
    """Follow, request to follow, or change the options. A parameter that is not sent keeps its value."""
    await viewer.ask(terms.command(id))
    return json(relationship_fields(await _as_if_accepted(context, await find_relationship(context, viewer, id))))


@api.post("/api/v1/follows", auth="user", scopes=WRITE, rates=(rates.FOLLOWS,), returns="Account")
async def follow_by_handle(context: HttpContext, viewer: Viewer, handle: HandleQuery) -> Answer:
    """Follow an account by `user@domain`, or by its name if it is local. The answer is the account."""
    named = handle_of(without_signs_around(handle.uri), context.settings.local_domain)
    if named is None:
        raise NotFound
    account = require_public(await context.database.read(accounts.find_by_acct, *named))
    await viewer.ask(Follow(account.id))
    return await account_answer(context, require_public(await context.accounts.find(account.id)))


async def _as_if_accepted(context: HttpContext, relationship: Relationship) -> Relationship:
    """Return the relationship. An unlocked account of another server counts as followed until that server refuses."""
    target = await context.accounts.find(relationship.id)
    if target is None or target.local or target.locked or not relationship.requested:
        return relationship
    return replace(relationship, following=True, requested=False)


@api.post("/api/v1/accounts/<id>/unfollow", auth="user", scopes=WRITE, returns="Relationship")
async def unfollow(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unfollow(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/remove_from_followers", auth="user", scopes=WRITE, returns="Relationship")
async def remove_from_followers(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RemoveFollower(id))
    return await relationship(context, viewer, id)
