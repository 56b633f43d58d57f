"""Filters, in the turn of the account that has them.

Each command makes a new filter from the filter as it was. The transaction stores the difference and reads all
filters of the account again, which its memory and its streams then have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...storage import filters
from ...storage.filters import Filter, FilterAction, FilterKeyword, FilterStatus
from ..account import AccountActor, AccountChange
from ..facts.accounts import ChangedFilters
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import (
    FILTER_KEYWORDS,
    FILTER_KEYWORDS_CHARACTERS,
    FILTER_STATUSES,
    FILTER_TITLE_CHARACTERS,
    FILTERS,
)
from .interacting import invalid
from .statuses import find_visible

TOO_MANY = invalid("You have reached the maximum number of filters")
TOO_MANY_KEYWORDS = invalid("You have reached the maximum number of filter keywords")
TOO_LONG = invalid(f"The keywords of all filters are too long (maximum is {FILTER_KEYWORDS_CHARACTERS} characters)")
TOO_MANY_STATUSES = invalid("You have reached the maximum number of filtered posts")
NAMED_ALREADY = invalid("Status has already been taken")
SEVERAL_KEYWORDS = Refused(
    422, "This filter has several keywords. An app that knows them can change its contexts, its expiry and its action."
)


@dataclass(frozen=True, slots=True)
class FilterExpiry:
    """In how many seconds a filter expires; None: never."""

    seconds: int | None


@dataclass(frozen=True, slots=True)
class KeywordChange:
    """A keyword of a filter to add or, with an id, to change or to remove. A field of None stays as it is."""

    id: int | None = None
    keyword: str | None = None
    whole_word: bool | None = None
    remove: bool = False

    def applied(self, before: FilterKeyword) -> FilterKeyword:
        return FilterKeyword(
            before.id,
            before.keyword if self.keyword is None else self.keyword,
            before.whole_word if self.whole_word is None else self.whole_word,
        )


@dataclass(frozen=True, slots=True)
class CreateFilter(Command[Filter]):
    """Command: create a filter."""

    title: str
    contexts: tuple[str, ...]
    action: FilterAction
    expiry: FilterExpiry
    keywords: tuple[KeywordChange, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeFilter(Command[Filter]):
    """Command: change a filter and its keywords. A field of None stays as it is."""

    id: int
    title: str | None = None
    contexts: tuple[str, ...] | None = None
    action: FilterAction | None = None
    expiry: FilterExpiry | None = None
    keywords: tuple[KeywordChange, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteFilter(Command[None]):
    """Command: delete a filter."""

    id: int


@dataclass(frozen=True, slots=True)
class AddFilterKeyword(Command[FilterKeyword]):
    """Command: add a keyword to a filter."""

    filter_id: int
    keyword: str
    whole_word: bool


@dataclass(frozen=True, slots=True)
class ChangeFilterKeyword(Command[FilterKeyword]):
    """Command: change a keyword. A field of None stays as it is."""

    id: int
    keyword: str | None
    whole_word: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteFilterKeyword(Command[None]):
    """Command: remove a keyword from its filter."""

    id: int


@dataclass(frozen=True, slots=True)
class AddFilterStatus(Command[FilterStatus]):
    """Command: let a filter match a status by its id, independent of the text."""

    filter_id: int
    status_id: int


@dataclass(frozen=True, slots=True)
class DeleteFilterStatus(Command[None]):
    """Command: remove the entry of a status from its filter."""

    id: int


@dataclass(frozen=True, slots=True)
class ChangePhrase(Command[Filter]):
    """Command: change a keyword together with its filter, as the first version of the API does. A value of None stays.

    Refused if the filter has other keywords and would be changed itself.
    """

    id: int
    phrase: str
    contexts: tuple[str, ...] | None
    action: FilterAction
    whole_word: bool | None = None
    expiry: FilterExpiry | None = None


@dataclass(frozen=True, slots=True)
class DeletePhrase(Command[None]):
    """Command: remove a keyword, and its filter if nothing else is left in it."""

    id: int


@turn(AccountActor, CreateFilter)
async def create(account: AccountActor, message: CreateFilter) -> Filter | Refused:
    keywords = _changed(account, (), message.keywords)
    if isinstance(keywords, Refused):
        return keywords
    expires_at = _moment(account, message.expiry)
    new = Filter(
        account.context.ids.next(), message.title, message.contexts, message.action, expires_at, keywords
    )  # fmt: skip
    return await _put(account, None, new)


@turn(AccountActor, ChangeFilter)
async def change(account: AccountActor, message: ChangeFilter) -> Filter | Refused:
    before = account.filters.find(message.id)
    if before is None:
        return NOT_FOUND
    keywords = _changed(account, before.keywords, message.keywords)
    if isinstance(keywords, Refused):
        return keywords
    after = replace(
        before,
        title=before.title if message.title is None else message.title,
        contexts=before.contexts if message.contexts is None else message.contexts,
        action=message.action or before.action,
        expires_at=before.expires_at if message.expiry is None else _moment(account, message.expiry),
        keywords=keywords,
    )
    return await _put(account, before, after)


@turn(AccountActor, DeleteFilter)
async def delete(account: AccountActor, message: DeleteFilter) -> Refused | None:
    before = account.filters.find(message.id)
    return NOT_FOUND if before is None else await _store(account, before, None)


@turn(AccountActor, AddFilterKeyword)
async def add_keyword(account: AccountActor, message: AddFilterKeyword) -> FilterKeyword | Refused:
    before = account.filters.find(message.filter_id)
    if before is None:
        return NOT_FOUND
    new = FilterKeyword(account.context.ids.next(), message.keyword, message.whole_word)
    return await _store(account, before, replace(before, keywords=(*before.keywords, new))) or new


@turn(AccountActor, ChangeFilterKeyword)
async def change_keyword(account: AccountActor, message: ChangeFilterKeyword) -> FilterKeyword | Refused:
    before = account.filters.with_keyword(message.id)
    if before is None:
        return NOT_FOUND
    after = _with_keyword(before, KeywordChange(message.id, message.keyword, message.whole_word))
    return await _store(account, before, after) or next(
        keyword for keyword in after.keywords if keyword.id == message.id
    )


@turn(AccountActor, DeleteFilterKeyword)
async def delete_keyword(account: AccountActor, message: DeleteFilterKeyword) -> Refused | None:
    before = account.filters.with_keyword(message.id)
    return NOT_FOUND if before is None else await _store(account, before, _without_keyword(before, message.id))


@turn(AccountActor, AddFilterStatus)
async def add_status(account: AccountActor, message: AddFilterStatus) -> FilterStatus | Refused:
    before = account.filters.find(message.filter_id)
    if before is None or await find_visible(account, message.status_id) is None:
        return NOT_FOUND
    if any(entry.status_id == message.status_id for entry in before.statuses):
        return NAMED_ALREADY
    new = FilterStatus(account.context.ids.next(), message.status_id)
    after = await _put(account, before, replace(before, statuses=(*before.statuses, new)))
    if isinstance(after, Refused):
        return after
    return new if new in after.statuses else NOT_FOUND  # it may have been deleted meanwhile


@turn(AccountActor, DeleteFilterStatus)
async def delete_status(account: AccountActor, message: DeleteFilterStatus) -> Refused | None:
    before = account.filters.with_status(message.id)
    if before is None:
        return NOT_FOUND
    left = tuple(entry for entry in before.statuses if entry.id != message.id)
    return await _store(account, before, replace(before, statuses=left))


@turn(AccountActor, ChangePhrase)
async def change_phrase(account: AccountActor, message: ChangePhrase) -> Filter | Refused:
    before = account.filters.with_keyword(message.id)
    if before is None:
        return NOT_FOUND
    expires_at = before.expires_at if message.expiry is None else _moment(account, message.expiry)
    contexts = before.contexts if message.contexts is None else message.contexts
    group = replace(before, contexts=contexts, action=message.action, expires_at=expires_at)
    if group != before and len(before.keywords) > 1:
        return SEVERAL_KEYWORDS
    after = _with_keyword(group, KeywordChange(message.id, message.phrase, message.whole_word))
    # A filter that the first version of the API made is named after its phrase.
    if [phrase_title(keyword.keyword) for keyword in before.keywords] == [before.title]:
        after = replace(after, title=phrase_title(message.phrase))
    return await _put(account, before, after)


@turn(AccountActor, DeletePhrase)
async def delete_phrase(account: AccountActor, message: DeletePhrase) -> Refused | None:
    before = account.filters.with_keyword(message.id)
    if before is None:
        return NOT_FOUND
    after = _without_keyword(before, message.id)
    return await _store(account, before, after if after.keywords or after.statuses else None)


def phrase_title(phrase: str) -> str:
    """Return the title of a filter that is made for a phrase."""
    return phrase[:FILTER_TITLE_CHARACTERS]


def _moment(account: AccountActor, expiry: FilterExpiry) -> datetime | None:
    return None if expiry.seconds is None else account.now + timedelta(seconds=expiry.seconds)


def _changed(
    account: AccountActor, before: Sequence[FilterKeyword], changes: Iterable[KeywordChange]
) -> tuple[FilterKeyword, ...] | Refused:
    """Return the keywords of a filter after these changes."""
    keywords = {keyword.id: keyword for keyword in before}
    for change in changes:
        if change.id is None:
            new = FilterKeyword(account.context.ids.next(), change.keyword or "", change.whole_word is not False)
            keywords[new.id] = new
        elif change.id not in keywords:
            return NOT_FOUND
        elif change.remove:
            del keywords[change.id]
        else:
            keywords[change.id] = change.applied(keywords[change.id])
    return tuple(keywords.values())


def _with_keyword(before: Filter, change: KeywordChange) -> Filter:
    keywords = (change.applied(keyword) if keyword.id == change.id else keyword for keyword in before.keywords)
    return replace(before, keywords=tuple(keywords))


def _without_keyword(before: Filter, id: int) -> Filter:
    return replace(before, keywords=tuple(keyword for keyword in before.keywords if keyword.id != id))


async def _put(account: AccountActor, before: Filter | None, after: Filter) -> Filter | Refused:
    """Store a filter, and return it as it is stored."""
    return await _store(account, before, after) or account.filters.find(after.id) or NOT_FOUND


async def _store(account: AccountActor, before: Filter | None, after: Filter | None) -> Refused | None:
    """Store (`before` is None), change, or delete (`after` is None) a filter."""
    others = [row for row in account.filters.rows if row is not before]
    if after is not None and _grows(before, after) and (refused := _excess([*others, after])) is not None:
        return refused
    return await account.change(_replace, before, after)


async def _replace(change: AccountChange, before: Filter | None, after: Filter | None) -> None:
    db, owner = change.db, change.account.id
    if before is None and after is not None:
        await filters.insert(db, owner, after, change.now)
    elif before is not None and after is None:
        await filters.delete(db, owner, before.id)
    elif before is not None and after is not None:
        await filters.change(db, owner, before, after, change.now)
    change.publish(ChangedFilters(owner, await filters.of_account(db, owner)))


def _grows(before: Filter | None, after: Filter) -> bool:
    """True if a filter is new or has more than before. Accounts over a limit, which was higher once, may have less."""
    return before is None or any(new > old for old, new in zip(_sizes(before), _sizes(after), strict=True))


def _sizes(row: Filter) -> tuple[int, int, int]:
    """Return the number of keywords, their characters, and the number of statuses."""
    return len(row.keywords), sum(len(keyword.keyword) for keyword in row.keywords), len(row.statuses)


def _excess(rows: Sequence[Filter]) -> Refused | None:
    """Return the refusal of more than one account may have."""
    if len(rows) > FILTERS:
        return TOO_MANY
    keywords, characters, statuses = (sum(sizes) for sizes in zip(*map(_sizes, rows), strict=True))
    if keywords > FILTER_KEYWORDS:
        return TOO_MANY_KEYWORDS
    if characters > FILTER_KEYWORDS_CHARACTERS:
        return TOO_LONG
    return TOO_MANY_STATUSES if statuses > FILTER_STATUSES else None
