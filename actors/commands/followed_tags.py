"""Following hashtags, in the turn of the account that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import followed_tags, tags
from ...storage.engine.database import Connection
from ...storage.statuses import StatusTag
from ..account import AccountActor
from ..effects.relations import relations_changed
from ..facts import ChangedFollowedTags
from ..kernel import Message, Origin, Refused, turn
from ..rules.limits import FOLLOWED_TAGS
from .interacting import invalid

TOO_MANY = invalid(f"You cannot follow more than {FOLLOWED_TAGS} hashtags")


@dataclass(frozen=True, slots=True)
class FollowTag(Message[None]):
    """Command: show public statuses with a hashtag on the home timeline. A repeat changes nothing."""

    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class UnfollowTag(Message[None]):
    """Command: end the follow of a hashtag. A repeat changes nothing."""

    name: str


@dataclass(frozen=True, slots=True)
class TagFollows:
    """The outcome of a transaction: all followed hashtags, as in `Perspective`, and the ids of its promises."""

    tags: dict[str, int]
    promised: list[int]


@turn(AccountActor, FollowTag)
async def follow_tag(account: AccountActor, message: FollowTag) -> Refused | None:
    followed = account.perspective.followed_tags
    if message.name in followed:
        return None
    if len(followed) >= FOLLOWED_TAGS:
        return TOO_MANY
    return await _publish(account, await account.transact(_follow, account, message, account.now, account.origin))


@turn(AccountActor, UnfollowTag)
async def unfollow_tag(account: AccountActor, message: UnfollowTag) -> None:
    if message.name in account.perspective.followed_tags:
        await _publish(account, await account.transact(_unfollow, account, message.name, account.origin))


async def _follow(
    db: Connection, account: AccountActor, message: FollowTag, now: datetime, origin: Origin
) -> TagFollows:
    ids = account.context.ids
    tag = await tags.ensure(db, StatusTag(ids.next(), message.name, message.display_name), now)
    await followed_tags.insert(db, ids.next(), account.id, tag.id, now)
    return await _promise(db, account, origin)


async def _unfollow(db: Connection, account: AccountActor, name: str, origin: Origin) -> TagFollows:
    await followed_tags.delete(db, account.id, name)
    return await _promise(db, account, origin)


async def _promise(db: Connection, account: AccountActor, origin: Origin) -> TagFollows:
    """Promise to tell the account and its home timeline of the change, in the same transaction."""
    promised = await account.context.outbox.promise(db, [relations_changed(account.id, ())], origin)
    return TagFollows(await followed_tags.of_account(db, account.id), promised)


async def _publish(account: AccountActor, follows: TagFollows) -> None:
    """Have the home timeline read its rows again, after the commit and before the answer."""
    await account.publish(ChangedFollowedTags(account.id, follows.tags), promised=follows.promised)
