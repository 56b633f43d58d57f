"""The viewer's relations to other accounts: follows, blocks and mutes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from ...actors.commands.follow_requests import RemoveFollower
from ...actors.commands.relations import Block, Follow, Mute, Unblock, Unfollow, Unmute
from ...actors.rules.identity import handle_of, without_signs_around
from ...actors.rules.languages import language_code
from ...actors.rules.visibility import shows_network
from ...storage import accounts, relations
from ...storage.relations import Relationship
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import account_fields, relationship_fields
from ..intake.parameters import Count, Flag, Ids, Input, MaybeFlag, Several, Text
from ..router import api
from ..views.accounts import account_answer, is_public, require_public
from ..views.statuses import perspective_of

FOLLOWS = ("write:follows", "follow")
BLOCKS = ("write:blocks", "follow")
MUTES = ("write:mutes", "follow")
MOST_AT_ONCE = 1000  # relationships; apps request them for a whole page of accounts
MOST_FAMILIAR = 40  # accounts whose followers are searched
LONGEST_MUTE = 100 * 365 * 24 * 60 * 60  # seconds; a longer mute has no end
FAMILIAR = 40  # familiar followers of an account


class RelationshipIds(Input):
    id: Ids = ()
    with_suspended: Flag = False


class FollowForm(Input):
    reblogs: MaybeFlag = None
    notify: MaybeFlag = None
    languages: Annotated[list[Text] | None, Several] = None

    def command(self, id: int) -> Follow:
        codes = None if self.languages is None else dict.fromkeys(map(language_code, self.languages))
        languages = None if codes is None else tuple(code for code in codes if code)
        return Follow(id, self.reblogs, self.notify, languages)


class MuteTerms(Input):
    notifications: Flag = True
    duration: Count = 0


class HandleQuery(Input):
    uri: Text = ""


@api.get("/api/v1/accounts/relationships", auth="user", scopes=("read:follows",), returns="[Relationship]")
async def show_relationships(context: HttpContext, viewer: Viewer, wanted: RelationshipIds) -> Answer:
    """The viewer's relations to these accounts, in the order of the ids."""
    ids = list(dict.fromkeys(wanted.id))[:MOST_AT_ONCE]
    known = (await context.accounts.find_many(ids)).values()
    public = [account for account in known if is_public(account)]
    shown = [account.id for account in public if wanted.with_suspended or account.suspended_at is None]
    found = await context.database.read(relations.relationships, viewer.account_id, shown, context.clock.now())
    return json([relationship_fields(found[id]) for id in shown if id in found])


@api.get("/api/v1/accounts/familiar_followers", auth="user", scopes=("read:follows",), returns="[FamiliarFollowers]")
async def show_familiar_followers(context: HttpContext, viewer: Viewer, wanted: RelationshipIds) -> Answer:
    """For each account, its followers that the viewer follows too.

    The list is empty for an account that hides its followers. Followers that hide their network are left out.
    """
    perspective = await perspective_of(viewer)
    targets = await context.accounts.find_many(list(dict.fromkeys(wanted.id))[:MOST_FAMILIAR])
    present = [target for target in targets.values() if is_public(target) and target.suspended_at is None]
    open_ids = [target.id for target in present if shows_network(target, perspective)]
    found = await context.database.read(relations.familiar_followers, viewer.account_id, open_ids, FAMILIAR)
    people = await context.accounts.find_many(id for familiar in found.values() for id in familiar)
    base_url = context.settings.base_url
    shown = {
        id: account_fields(account, base_url, context.rendered.emojis)
        for id, account in people.items()
        if shows_network(account, perspective)
    }
    return json([
        {"id": str(target.id), "accounts": [shown[id] for id in found.get(target.id, ()) if id in shown]}
        for target in present
    ])  # fmt: skip


@api.post("/api/v1/accounts/<id>/follow", auth="user", scopes=FOLLOWS, rates=(rates.FOLLOWS,), returns="Relationship")
async def follow(context: HttpContext, viewer: Viewer, id: int, terms: FollowForm) -> Answer:
    """Follow, request to follow, or change the options. A parameter that is not sent keeps its value."""
    await viewer.ask(terms.command(id))
    return json(relationship_fields(await _as_if_accepted(context, await _find(context, viewer, id))))


@api.post("/api/v1/follows", auth="user", scopes=FOLLOWS, rates=(rates.FOLLOWS,), returns="Account")
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


@api.post("/api/v1/accounts/<id>/unfollow", auth="user", scopes=FOLLOWS, returns="Relationship")
async def unfollow(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unfollow(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/remove_from_followers", auth="user", scopes=FOLLOWS, returns="Relationship")
async def remove_from_followers(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RemoveFollower(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/block", auth="user", scopes=BLOCKS, returns="Relationship")
async def block(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Block(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/unblock", auth="user", scopes=BLOCKS, returns="Relationship")
async def unblock(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unblock(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/mute", auth="user", scopes=MUTES, returns="Relationship")
async def mute(context: HttpContext, viewer: Viewer, id: int, terms: MuteTerms) -> Answer:
    """Mute an account, or change the options of a mute."""
    duration = min(max(terms.duration or 0, 0), LONGEST_MUTE)
    await viewer.ask(Mute(id, terms.notifications, duration))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/unmute", auth="user", scopes=MUTES, returns="Relationship")
async def unmute(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unmute(id))
    return await relationship(context, viewer, id)


async def relationship(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Answer with the viewer's current relation to an account."""
    return json(relationship_fields(await _find(context, viewer, id)))


async def _find(context: HttpContext, viewer: Viewer, id: int) -> Relationship:
    require_public(await context.accounts.find(id))
    found = await context.database.read(relations.relationships, viewer.account_id, [id], context.clock.now())
    if id not in found:
        raise NotFound
    return found[id]
