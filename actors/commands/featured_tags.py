"""Featured hashtags, in the turn of the account that features them. Clients compare the error texts."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import featured_tags, tags
from ...storage.featured_tags import FeaturedTag
from ...storage.statuses import StatusTag
from ..account import AccountActor, AccountChange
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import FEATURED_TAGS
from ..rules.text import Hashtag
from ..sending.interactions import send_featured_tag
from .interacting import invalid

TOO_MANY = invalid("You have already featured the maximum number of hashtags")


@dataclass(frozen=True, slots=True)
class FeatureTag(Command[FeaturedTag]):
    """Command: show a hashtag on the profile. The answer is the FeaturedTag, which a repeat does not change."""

    name: str
    display_name: str

    @classmethod
    def of(cls, hashtag: Hashtag) -> FeatureTag:
        return cls(hashtag.name, hashtag.text)


@dataclass(frozen=True, slots=True)
class RemoveFeaturedTag(Command[None]):
    """Command: remove a featured hashtag, by the id of the FeaturedTag."""

    id: int


@dataclass(frozen=True, slots=True)
class UnfeatureTag(Command[None]):
    """Command: remove a featured hashtag, by the id of the hashtag. A repeat changes nothing."""

    tag_id: int


@turn(AccountActor, FeatureTag)
async def feature_tag(account: AccountActor, message: FeatureTag) -> FeaturedTag | Refused:
    return await account.change(_feature, message)


async def _feature(change: AccountChange, message: FeatureTag) -> FeaturedTag | Refused:
    db, account, ids, now = change.db, change.account, change.ids, change.now
    before = await featured_tags.of_account(db, account.id)
    if (there := _named(message.name, before)) is not None:
        return there
    if len(before) >= FEATURED_TAGS:
        return TOO_MANY
    tag = await tags.ensure(db, StatusTag(ids.next(), message.name, message.display_name), now)
    await featured_tags.insert(db, ids.next(), account.id, tag.id, message.display_name, now)
    made = _named(message.name, await featured_tags.of_account(db, account.id))
    if made is None:
        return NOT_FOUND
    change.promise(*await send_featured_tag(db, account, made, featured=True))
    return made


def _named(name: str, among: list[FeaturedTag]) -> FeaturedTag | None:
    return next((tag for tag in among if tag.name == name), None)


@turn(AccountActor, RemoveFeaturedTag)
async def remove_featured_tag(account: AccountActor, message: RemoveFeaturedTag) -> Refused | None:
    return await account.change(_remove, id=message.id)


@turn(AccountActor, UnfeatureTag)
async def unfeature_tag(account: AccountActor, message: UnfeatureTag) -> None:
    await account.change(_remove, tag_id=message.tag_id)


async def _remove(change: AccountChange, *, id: int | None = None, tag_id: int | None = None) -> Refused | None:
    """Stop featuring a hashtag, by its own id or that of the tag. Refused if the account has none with this id."""
    db, account = change.db, change.account
    featured = await featured_tags.of_account(db, account.id)
    removed = next((tag for tag in featured if tag.id == id or tag.tag_id == tag_id), None)
    if removed is None:
        return NOT_FOUND
    await featured_tags.delete(db, account.id, removed.id)
    change.promise(*await send_featured_tag(db, account, removed, featured=False))
    return None
