"""The viewer's relations to other accounts, and the followers that both know."""

from __future__ import annotations

from ...actors.rules.visibility import shows_network
from ...storage import relations
from ...storage.relations import Relationship
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.account import account_fields, relationship_fields
from ..intake.parameters import Flag, Ids, Input
from ..router import api
from ..views.accounts import is_public, require_public
from ..views.statuses import perspective_of

MOST_AT_ONCE = 1000  # relationships; apps request them for a whole page of accounts
MOST_FAMILIAR = 40  # accounts whose followers are searched
FAMILIAR = 40  # familiar followers of an account


class RelationshipIds(Input):
    id: Ids = ()
    with_suspended: Flag = False


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


async def relationship(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Answer with the viewer's current relation to an account."""
    return json(relationship_fields(await find_relationship(context, viewer, id)))


async def find_relationship(context: HttpContext, viewer: Viewer, id: int) -> Relationship:
    require_public(await context.accounts.find(id))
    found = await context.database.read(relations.relationships, viewer.account_id, [id], context.clock.now())
    if id not in found:
        raise NotFound
    return found[id]
