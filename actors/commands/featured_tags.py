"""Featured hashtags, in the turn of the account that features them. Clients compare the error texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import featured_tags, tags
from ...storage.engine.database import Connection
from ...storage.featured_tags import FeaturedTag
from ...storage.statuses import StatusTag
from ..account import AccountActor
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import FEATURED_TAGS
from ..rules.text import Hashtag
from ..sending.interactions import send_featured_tag
from .interacting import invalid

TOO_MANY = invalid("You have already featured the maximum number of hashtags")


@dataclass(frozen=True, slots=True)
class FeatureTag(Message[FeaturedTag]):
    """Command: show a hashtag on the profile. The answer is the FeaturedTag, which a repeat does not change."""

    name: str
    display_name: str

    @classmethod
    def of(cls, hashtag: Hashtag) -> FeatureTag:
        return cls(hashtag.name, hashtag.text)


@dataclass(frozen=True, slots=True)
class RemoveFeaturedTag(Message[None]):
    """Command: remove a featured hashtag, by the id of the FeaturedTag."""

    id: int


@dataclass(frozen=True, slots=True)
class UnfeatureTag(Message[None]):
    """Command: remove a featured hashtag, by the id of the hashtag. A repeat changes nothing."""

    tag_id: int


@turn(AccountActor, FeatureTag)
async def feature_tag(account: AccountActor, message: FeatureTag) -> FeaturedTag | Refused:
    return await account.transact(_feature, account, message, account.now, account.origin)


async def _feature(
    db: Connection, account: AccountActor, message: FeatureTag, now: datetime, origin: Origin
) -> FeaturedTag | Refused:
    before = await featured_tags.of_account(db, account.id)
    if (there := _named(message.name, before)) is not None:
        return there
    if len(before) >= FEATURED_TAGS:
        return TOO_MANY
    ids = account.context.ids
    tag = await tags.ensure(db, StatusTag(ids.next(), message.name, message.display_name), now)
    await featured_tags.insert(db, ids.next(), account.id, tag.id, message.display_name, now)
    made = _named(message.name, await featured_tags.of_account(db, account.id))
    if made is None:
        return NOT_FOUND
    await account.context.outbox.promise(db, await send_featured_tag(db, account, made, featured=True), origin)
    return made


def _named(name: str, among: list[FeaturedTag]) -> FeaturedTag | None:
    return next((one for one in among if one.name == name), None)


@turn(AccountActor, RemoveFeaturedTag)
async def remove_featured_tag(account: AccountActor, message: RemoveFeaturedTag) -> Refused | None:
    removed = await account.transact(_remove, account, account.origin, id=message.id)
    return None if removed else NOT_FOUND


@turn(AccountActor, UnfeatureTag)
async def unfeature_tag(account: AccountActor, message: UnfeatureTag) -> None:
    await account.transact(_remove, account, account.origin, tag_id=message.tag_id)


async def _remove(
    db: Connection, account: AccountActor, origin: Origin, *, id: int | None = None, tag_id: int | None = None
) -> bool:
    """Stop featuring a hashtag, by its own id or that of the tag. False if the account has none with this id."""
    featured = await featured_tags.of_account(db, account.id)
    removed = next((one for one in featured if one.id == id or one.tag_id == tag_id), None)
    if removed is None:
        return False
    await featured_tags.delete(db, account.id, removed.id)
    await account.context.outbox.promise(db, await send_featured_tag(db, account, removed, featured=False), origin)
    return True
