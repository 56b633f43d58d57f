"""Accounts: one's own, other people's, and how one stands to them."""

from __future__ import annotations

from typing import Annotated

from ...actors.commands.relations import Block, Follow, Mute, Unblock, Unfollow, Unmute
from ...storage import accounts, follows, relations, users
from ...storage.accounts import Account
from ...storage.engine import Connection
from ...storage.users import User
from .. import rates
from ..answer import Answer, json
from ..authentication import Viewer
from ..entities.account import MOST_REQUESTS_COUNTED, account_json, credential_account_fields
from ..entities.relationship import relationship_fields
from ..errors import Gone, NotFound
from ..house import House
from ..parameters import Count, Flag, Given, Ids, Input, MaybeFlag, Several, Text
from ..routing import api

READ = ("read:accounts",)
FOLLOWS = ("write:follows", "follow")
BLOCKS = ("write:blocks", "follow")
MUTES = ("write:mutes", "follow")
MOST_AT_ONCE = 40


class Lookup(Input):
    acct: Given


class Accounts(Input):
    id: Ids = ()


class FollowTerms(Input):
    reblogs: MaybeFlag = None
    notify: MaybeFlag = None
    languages: Annotated[list[Text] | None, Several] = None


class MuteTerms(Input):
    notifications: Flag = True
    duration: Count = 0


@api.get("/api/v1/accounts/verify_credentials", auth="user", scopes=("profile", "read:accounts"))
async def show_own(house: House, viewer: Viewer) -> Answer:
    """The viewer's own account, with what only they may see."""
    account = await house.accounts.find(viewer.account_id)
    user, requests = await house.database.read(_credentials, viewer.account_id)
    if account is None or user is None:
        raise NotFound
    return json(credential_account_fields(account, user, requests, house.settings.base_url))


async def _credentials(db: Connection, account_id: int) -> tuple[User | None, int]:
    """The user, and how many ask to follow: one visit to the database."""
    user = await users.find_user(db, account_id)
    asking = await follows.requests_page(
        db, account_id, max_id=None, since_id=None, min_id=None, limit=MOST_REQUESTS_COUNTED
    )
    return user, len(asking)


@api.get("/api/v1/accounts/lookup", scopes=READ)
async def look_up(house: House, viewer: Viewer | None, lookup: Lookup) -> Answer:
    """An account by its handle, without asking another server."""
    name, _, domain = lookup.acct.strip().removeprefix("@").partition("@")
    foreign = domain.lower() if domain and domain.lower() != house.settings.local_domain else None
    account = await house.database.read(accounts.find_by_acct, name, foreign)
    return _answer(house, await _presentable(house, account))


@api.get("/api/v1/accounts/relationships", auth="user", scopes=("read:follows",))
async def show_relationships(house: House, viewer: Viewer, wanted: Accounts) -> Answer:
    """How the viewer stands to these accounts, in the order asked for."""
    ids = list(dict.fromkeys(wanted.id))[:MOST_AT_ONCE]
    found = await house.database.read(relations.relationships, viewer.account_id, ids, house.clock.now())
    return json([relationship_fields(found[id]) for id in ids if id in found])


@api.get("/api/v1/accounts/<id>", scopes=READ)
async def show(house: House, viewer: Viewer | None, id: int) -> Answer:
    """One account; 410 when it is suspended."""
    account = await _presentable(house, await house.accounts.find(id))
    if account.suspended_at is not None:
        raise Gone
    return _answer(house, account)


@api.post("/api/v1/accounts/<id>/follow", auth="user", scopes=FOLLOWS, rates=(rates.FOLLOWS,))
async def follow(house: House, viewer: Viewer, id: int, terms: FollowTerms) -> Answer:
    """Follow, ask to, or change the terms; what is not sent stays as it is."""
    languages = None if terms.languages is None else tuple(terms.languages)
    await viewer.ask(Follow(id, terms.reblogs, terms.notify, languages))
    return await _relationship(house, viewer, id)


@api.post("/api/v1/accounts/<id>/unfollow", auth="user", scopes=FOLLOWS)
async def unfollow(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unfollow(id))
    return await _relationship(house, viewer, id)


@api.post("/api/v1/accounts/<id>/block", auth="user", scopes=BLOCKS)
async def block(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Block(id))
    return await _relationship(house, viewer, id)


@api.post("/api/v1/accounts/<id>/unblock", auth="user", scopes=BLOCKS)
async def unblock(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unblock(id))
    return await _relationship(house, viewer, id)


@api.post("/api/v1/accounts/<id>/mute", auth="user", scopes=MUTES)
async def mute(house: House, viewer: Viewer, id: int, terms: MuteTerms) -> Answer:
    """Mute, or change how."""
    await viewer.ask(Mute(id, terms.notifications, max(terms.duration or 0, 0)))
    return await _relationship(house, viewer, id)


@api.post("/api/v1/accounts/<id>/unmute", auth="user", scopes=MUTES)
async def unmute(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unmute(id))
    return await _relationship(house, viewer, id)


async def _relationship(house: House, viewer: Viewer, id: int) -> Answer:
    found = await house.database.read(relations.relationships, viewer.account_id, [id], house.clock.now())
    if id not in found:
        raise NotFound
    return json(relationship_fields(found[id]))


async def _presentable(house: House, account: Account | None) -> Account:
    """An account that exists for others: users who are not confirmed or approved yet do not."""
    if account is None or account.deleted_at is not None:
        raise NotFound
    user = await house.database.read(users.find_user, account.id) if account.local else None
    if user is not None and (user.confirmed_at is None or user.approved_at is None):
        raise NotFound
    return account


def _answer(house: House, account: Account) -> Answer:
    return Answer(account_json(account, house.rendered, house.settings.base_url))
