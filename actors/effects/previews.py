"""Preview cards of statuses: a queue of their own, because the pages are on servers that may be slow or away.

The transaction of a status with a link promises its card (`rules/links.py` chooses the link). The queue fetches the
page, its oEmbed answer and its image, and stores one row for each address. It works on one page of a host at a time, up
to 32 in all; statuses with the same link wait for the first fetch and find its card. A page that does not answer is
tried four times in two hours. A page that has nothing to show is remembered for a day, a card is fresh for two weeks.

The transaction that gives a status its card locks the status and compares its link again, so that an edit or a deletion
leaves no card behind. It also promises to show the status again: the arrival of the card has an id, as an edit has, and
streams show it once. Pages are read and images decoded in confined processes (`media/pages.py`); images are stored as
files of this server. Every text is cut, and control characters and characters that change the direction of writing are
removed. The `html` of a page is never used: for known players (`previews/cards.py`) the server writes a frame around
the address, for all other pages there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from ...storage import accounts, preview_cards, statuses
from ...storage.engine.database import Connection, Database
from ...storage.preview_cards import CardFacts, FetchedCard
from ...storage.statuses import Status
from ..facts.statuses import ChangedStatus, EditedStatus
from ..kernel import Clock, Ids, Origin
from ..promises import Effect, Promise
from ..rules.identity import handle_of
from ..rules.links import link_of
from .files import files_unused
from .registry import MAIN_QUEUE, Attempt, EffectContext, EffectQueue, GivenUp, Promises, executes

KEPT_FOR = timedelta(days=14)  # until a page is fetched again, for the next status that links to it
NOTHING_KEPT_FOR = timedelta(days=1)  # until a page that had nothing to show is fetched again

# A context with the card of a page, whose block stores it; None if the page has nothing to show. Raises PageNotRead if
# the page must be fetched again, and NotTried while the breaker of its server stops requests.
ReadPage = Callable[[str], AbstractAsyncContextManager[CardFacts | None]]


class PageNotRead(Exception):
    """Raised when another try may succeed: the page's server did not answer, or this server could not read the page."""


@dataclass(frozen=True, slots=True)
class PreviewContext:
    """The context of previews.

    `base_url` is the address of this server, whose own pages have no cards. `local_domain` is the domain in the handles
    of its accounts.
    """

    database: Database
    clock: Clock
    ids: Ids
    outbox: Promises
    base_url: str
    local_domain: str
    read: ReadPage


# A group is the host of the page, which has one worker. So a slow host delays its own pages alone.
PREVIEWS: EffectQueue[PreviewContext] = EffectQueue(
    "previews", workers=32, claimed_at_once=4, retry_after=(60, 600, 3600), give_up_after=timedelta(days=1)
)
MOST_TRIES = 4  # the first try, and a try after each pause


@dataclass(frozen=True, slots=True)
class PreviewLink(Effect):
    """Give a status the card of the page that it links to."""

    status_id: int
    account_id: int
    url: str


@dataclass(frozen=True, slots=True)
class ForgetCard(Effect):
    """Drop the statuses with a card from the cache."""

    card_id: int


def preview_of(status: Status, base_url: str) -> Iterator[Promise]:
    """Yield the promise of a card for a status with a link.

    Statuses with the same link are processed one after the other.
    """
    if (link := link_of(status, base_url)) is not None and (status.card is None or status.card.url != link.url):
        partition = f"preview/{sha256(link.url.encode()).hexdigest()}"
        effect = PreviewLink(status.id, status.account_id, link.url)
        yield Promise(effect, partition, account=status.account_id, group=link.host)


def card_changed(card_id: int) -> Promise:
    """Return the promise that statuses show the card as it is now."""
    return Promise(ForgetCard(card_id))


@executes("preview", PreviewLink, PREVIEWS)
async def preview_link(context: PreviewContext, effect: PreviewLink, attempt: Attempt) -> None:
    """Fetch the page unless its card is fresh, and give the status its card."""
    status = await context.database.read(statuses.find, effect.status_id)
    if status is None or not _links_to(status, effect.url, context.base_url):
        return
    known = await context.database.read(preview_cards.find, effect.url)
    if known is not None and _is_fresh(known, context.clock.now()):
        await context.database.transact(_attach_known, context, effect, attempt.origin)
    else:
        await _fetch(context, effect, attempt)
    context.outbox.wake()


@executes("card", ForgetCard, MAIN_QUEUE)
async def forget_card(context: EffectContext, effect: ForgetCard, attempt: Attempt) -> None:
    ids = await context.database.read(preview_cards.statuses_with, effect.card_id)
    await context.facts.apply([ChangedStatus(id) for id in ids], attempt.origin)


async def _fetch(context: PreviewContext, effect: PreviewLink, attempt: Attempt) -> None:
    """Fetch and store the card. After the last try the page is treated as a page with nothing to show."""
    try:
        async with context.read(effect.url) as facts:
            await context.database.transact(_store, context, effect, facts, attempt.origin)
    except PageNotRead as error:
        if attempt.number < MOST_TRIES:
            raise
        await context.database.transact(_store, context, effect, None, attempt.origin)
        raise GivenUp(str(error)) from error


async def _store(
    db: Connection, context: PreviewContext, effect: PreviewLink, facts: CardFacts | None, origin: Origin
) -> None:
    now, id = context.clock.now(), context.ids.next()
    if facts is None:
        await preview_cards.store_nothing(db, id, effect.url, now)
    else:
        facts = replace(facts, author_account_id=await _account_of(db, context, facts.creator))
        stored = await preview_cards.store(db, id, effect.url, facts, now)
        promises = [files_unused([stored.old_image])] if stored.old_image else []
        if stored.id != id:
            promises.append(card_changed(stored.id))
        await context.outbox.promise(db, promises, origin)
    await _attach_known(db, context, effect, origin)


async def _account_of(db: Connection, context: PreviewContext, creator: str) -> int | None:
    """Return the account with the handle that a page names. The consent of the account is checked when it is shown."""
    handle = handle_of(creator, context.local_domain)
    account = None if handle is None else await accounts.find_by_acct(db, *handle)
    return None if account is None else account.id


async def _attach_known(db: Connection, context: PreviewContext, effect: PreviewLink, origin: Origin) -> None:
    """Give the status its card, and promise to show it again.

    The status is locked: an edit that removes the link is committed before, and is seen here, or after, and removes the
    card.
    """
    card = await preview_cards.hold(db, effect.url)
    if card is None or not card.found or not await statuses.hold(db, effect.status_id):
        return
    status = await statuses.find(db, effect.status_id)
    if status is None or not _links_to(status, effect.url, context.base_url):
        return
    if await preview_cards.attach(db, status.id, card.id, context.ids.next()):
        await statuses.store_words(db, [status.id])
        await context.outbox.promise(db, [EditedStatus(status.id).promised_by(status.account_id)], origin)


def _links_to(status: Status, url: str, base_url: str) -> bool:
    link = link_of(status, base_url)
    return link is not None and link.url == url


def _is_fresh(card: FetchedCard, now: datetime) -> bool:
    return now - card.fetched_at < (KEPT_FOR if card.found else NOTHING_KEPT_FOR)
