"""Featured hashtags, in the turn of the account that features them. Clients compare the error texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import featured_tags, tags
from ...storage.engine.database import Connection
from ...storage.featured_tags import FeaturedTag
from ...storage.statuses import StatusTag
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..rules.limits import FEATURED_TAGS
from ..rules.text import Hashtag
from .interacting import invalid
from .statuses import NOT_FOUND

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
    return await account.transact(_feature, account, message, account.now)


async def _feature(db: Connection, account: AccountActor, message: FeatureTag, now: datetime) -> FeaturedTag | Refused:
    before = await featured_tags.of_account(db, account.id)
    if (there := _named(message.name, before)) is not None:
        return there
    if len(before) >= FEATURED_TAGS:
        return TOO_MANY
    ids = account.context.ids
    tag = await tags.ensure(db, StatusTag(ids.next(), message.name, message.display_name), now)
    await featured_tags.insert(db, ids.next(), account.id, tag.id, message.display_name, now)
    return _named(message.name, await featured_tags.of_account(db, account.id)) or NOT_FOUND


def _named(name: str, among: list[FeaturedTag]) -> FeaturedTag | None:
    return next((one for one in among if one.name == name), None)


@turn(AccountActor, RemoveFeaturedTag)
async def remove_featured_tag(account: AccountActor, message: RemoveFeaturedTag) -> Refused | None:
    return None if await account.transact(featured_tags.delete, account.id, message.id) else NOT_FOUND


@turn(AccountActor, UnfeatureTag)
async def unfeature_tag(account: AccountActor, message: UnfeatureTag) -> None:
    await account.transact(featured_tags.delete_tag, account.id, message.tag_id)
