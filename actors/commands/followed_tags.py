"""Following hashtags, in the turn of the account that follows them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import followed_tags, tags
from ...storage.statuses import StatusTag
from ..account import AccountActor, AccountChange
from ..facts.relations import ChangedFollowedTags
from ..kernel import Command, Refused, turn
from ..rules.limits import FOLLOWED_TAGS
from .interacting import invalid

TOO_MANY = invalid(f"You cannot follow more than {FOLLOWED_TAGS} hashtags")


@dataclass(frozen=True, slots=True)
class FollowTag(Command[None]):
    """Command: show public statuses with a hashtag on the home timeline. A repeat changes nothing."""

    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class UnfollowTag(Command[None]):
    """Command: end the follow of a hashtag. A repeat changes nothing."""

    name: str


@turn(AccountActor, FollowTag)
async def follow_tag(account: AccountActor, message: FollowTag) -> Refused | None:
    followed = account.perspective.followed_tags
    if message.name in followed:
        return None
    if len(followed) >= FOLLOWED_TAGS:
        return TOO_MANY
    return await account.change(_follow, message)


@turn(AccountActor, UnfollowTag)
async def unfollow_tag(account: AccountActor, message: UnfollowTag) -> None:
    if message.name in account.perspective.followed_tags:
        await account.change(_unfollow, message.name)


async def _follow(change: AccountChange, message: FollowTag) -> None:
    tag = await tags.ensure(change.db, StatusTag(change.ids.next(), message.name, message.display_name), change.now)
    await followed_tags.insert(change.db, change.ids.next(), change.account.id, tag.id, change.now)
    await _publish(change)


async def _unfollow(change: AccountChange, name: str) -> None:
    await followed_tags.delete(change.db, change.account.id, name)
    await _publish(change)


async def _publish(change: AccountChange) -> None:
    """Publish all hashtags that the account follows now. Its home timeline reads its rows again."""
    followed = await followed_tags.of_account(change.db, change.account.id)
    change.publish(ChangedFollowedTags(change.account.id, followed))
