"""Status, Poll, Quote, ShallowQuote and QuoteApproval.

A status is rendered once for all viewers, and cached as bytes. Fields that depend on the viewer are appended. Dicts
with fragments, as other entities have, would cost a home page of 20 statuses 11% more CPU.

{…the status, its counts, "account": {…}, "reblog": {…      ,"poll": {…} ,"quote": {…} ,"favourited": …}   , … }
 the front: cached while the records are unchanged           for each viewer: the boosted status, then the boost
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import orjson

from ...actors.account import ViewerPart
from ...actors.activitypub.uris import maybe_web_address, web_address
from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.rules.text import tag_url
from ...actors.rules.visibility import ANONYMOUS, Approval, Perspective, Quotable, approval_for
from ...actors.shown.statuses import ShownStatus, quote_state
from ...storage.polls import Poll
from ...storage.status_flags import Flags
from ...storage.statuses import Status
from .account import account_json
from .custom_emoji import emojis_of_poll, emojis_of_status
from .filter import Matches, matches_in, with_matches
from .media import media_fields
from .preview_card import CardAuthor, author_of, card_fields
from .rendered import Renderings
from .times import instant, maybe_instant

NO_FLAGS = Flags()
PINNABLE = frozenset({"public", "unlisted", "private"})
NOT_QUOTABLE = "nobody"


def status_json(shown: ShownStatus, renderings: Renderings, base_url: str, viewer: ViewerPart | None = None) -> bytes:
    """Return the status as JSON; with a viewer, it has the viewer's part."""
    return _status(shown, renderings, base_url, viewer, _matches(shown, renderings, viewer), shown_quote_json)


def _status(
    shown: ShownStatus,
    renderings: Renderings,
    base_url: str,
    viewer: ViewerPart | None,
    matches: Matches,
    quote: Callable[[ShownStatus, Renderings, str, ViewerPart | None], bytes],
) -> bytes:
    """Return a status with the matches of the viewer's filters, and its quote as `quote` returns it."""
    original = shown.boosted or shown
    status, counted, records = shown.status, original.status, _records(shown)
    front = renderings.statuses.find(status.id, records) or renderings.statuses.keep(
        _front(shown, renderings, base_url), status.id, records
    )
    if viewer is None:
        own, voter, approval, tail, inner = NO_FLAGS, None, approval_json(counted, ANONYMOUS), b"", b""
    else:
        own, voter = viewer.flags.get(counted.id, NO_FLAGS), viewer.account_id
        approval, tail = approval_json(counted, viewer.perspective), viewer_part(status, own, voter)
        inner = b"" if original is shown else viewer_part(counted, own, voter)
    if matches:
        tail, inner = with_matches(tail, matches), with_matches(inner, matches)
    if counted.poll is not None or counted.quote_state is not None:
        front += _poll(counted, renderings, base_url, voter, own.votes)
        if counted.quote_state is not None:
            front += b',"quote":' + quote(original, renderings, base_url, viewer)
    if original is shown:
        return b'%b,"quote_approval":%b%b}' % (front, approval, tail)
    return b'%b,"quote_approval":%b%b},"quote_approval":%b%b}' % (front, approval, inner, approval, tail)


def _records(shown: ShownStatus) -> tuple[object, ...]:
    """Return the records that the front of a status is made of."""
    boosted = shown.boosted
    if boosted is None:
        return shown.status, shown.author, shown.card_author
    return shown.status, shown.author, boosted.status, boosted.author, boosted.card_author


def _front(shown: ShownStatus, renderings: Renderings, base_url: str) -> bytes:
    """Return the part for all viewers, without closing braces. A boost's front includes that of the boosted status."""
    status, boosted = shown.status, shown.boosted
    counted = status if boosted is None else boosted.status
    card_author = _card_author(shown, renderings, base_url)
    body = static_part(status, counted, base_url, renderings.emojis, card_author, sensitive=is_marked(shown))
    author = account_json(shown.author, renderings, base_url)
    inner = b"null" if boosted is None else _front(boosted, renderings, base_url)
    return b'%b,"account":%b,"reblog":%b' % (body, author, inner)


def shown_quote_json(shown: ShownStatus, renderings: Renderings, base_url: str, viewer: ViewerPart | None) -> bytes:
    """Return the quote of a status; null without a quote.

    It has the quoted status only in the state `accepted`. In other states it has nothing of the quoted status.
    """
    state, quoted = quote_state(shown, _perspective(viewer)), shown.quoted
    if state is None or state != "accepted" or quoted is None:
        return b"null" if state is None else quote_json(state, b"null")
    matches = _matches(quoted, renderings, viewer)
    return quote_json(state, _status(quoted, renderings, base_url, viewer, matches, _shallow_quote))


def _shallow_quote(shown: ShownStatus, renderings: Renderings, base_url: str, viewer: ViewerPart | None) -> bytes:
    """Return the quote of a quoted status, with an id in place of a status."""
    state = quote_state(shown, _perspective(viewer))
    if state is None:
        return b"null"
    id = str(shown.quoted.id) if state == "accepted" and shown.quoted is not None else None
    return orjson.dumps({"state": state, "quoted_status_id": id})


def _matches(shown: ShownStatus, renderings: Renderings, viewer: ViewerPart | None) -> Matches:
    return matches_in(shown, viewer.filters, renderings) if viewer is not None and viewer.filters else ()


def _perspective(viewer: ViewerPart | None) -> Perspective:
    return ANONYMOUS if viewer is None else viewer.perspective


def is_marked(shown: ShownStatus) -> bool:
    """True if staff have marked the media of the status as sensitive, with all of its author's."""
    return shown.author.sensitized_at is not None and bool(shown.status.media)


def static_part(
    status: Status, counted: Status, base_url: str, emojis: CustomEmojis, card_author: CardAuthor | None = None,
    *, sensitive: bool = False,
) -> bytes:  # fmt: skip
    """Return the part for all viewers, without the closing brace. A boost has the counts of the original.

    With `sensitive` it is marked as sensitive, also if its author has not marked it.
    """
    fields = _fields(status, counted, base_url, emojis, card_author) | {"content": status.content}
    if sensitive:
        fields["sensitive"] = True
    return orjson.dumps(fields)[:-1]


def deleted_status_json(shown: ShownStatus, renderings: Renderings, base_url: str, author: ViewerPart) -> bytes:
    """Return the answer to a delete: it has the source text, so that the user can write it again, and no content."""
    status = shown.status
    source = {"text": status.text, "content_type": status.content_type, "reblog": None}
    card_author = _card_author(shown, renderings, base_url)
    body = orjson.dumps(_fields(status, status, base_url, renderings.emojis, card_author) | source)[:-1]
    poll = _poll(status, renderings, base_url, status.account_id, ())
    account = account_json(shown.author, renderings, base_url)
    quoted = b"" if status.quote_state is None else b',"quote":' + shown_quote_json(shown, renderings, base_url, author)
    approval = approval_json(status, author.perspective)
    tail = with_matches(viewer_part(status, NO_FLAGS, status.account_id), _matches(shown, renderings, author))
    return b'%b%b,"account":%b%b,"quote_approval":%b%b}' % (body, poll, account, quoted, approval, tail)


def _card_author(shown: ShownStatus, renderings: Renderings, base_url: str) -> CardAuthor | None:
    card = shown.status.card
    return None if card is None else author_of(card, shown.card_author, renderings, base_url)


def _poll(status: Status, renderings: Renderings, base_url: str, viewer: int | None, votes: tuple[int, ...]) -> bytes:
    if status.poll is None:
        return b""
    emojis = emojis_of_poll(status, renderings.emojis, base_url)
    return b',"poll":' + orjson.dumps(poll_fields(status.poll, renderings.now(), viewer, votes, emojis))


def viewer_part(status: Status, flags: Flags, viewer: int) -> bytes:
    """Return the viewer's part: the flags for favourited, boosted, bookmarked, muted and pinned."""
    pinnable = status.account_id == viewer and status.reblog_of_id is None and status.visibility in PINNABLE
    return _VIEWER_PARTS[
        flags.favourited, flags.reblogged, flags.bookmarked, flags.muted, flags.pinned if pinnable else None
    ]


def _viewer_part(favourited: bool, reblogged: bool, bookmarked: bool, muted: bool, pinned: bool | None) -> bytes:
    part: dict[str, object] = {
        "favourited": favourited,
        "reblogged": reblogged,
        "muted": muted,
        "bookmarked": bookmarked,
        "filtered": [],
    }
    if pinned is not None:
        part["pinned"] = pinned
    return b"," + orjson.dumps(part)[1:-1]


_VIEWER_PARTS = {
    (favourited, reblogged, bookmarked, muted, pinned): _viewer_part(favourited, reblogged, bookmarked, muted, pinned)
    for favourited in (False, True)
    for reblogged in (False, True)
    for bookmarked in (False, True)
    for muted in (False, True)
    for pinned in (None, False, True)
}


def _fields(
    status: Status, counted: Status, base_url: str, emojis: CustomEmojis, card_author: CardAuthor | None
) -> dict[str, object]:
    fields = _text(status) | _counts(counted) | _attached(status, base_url, card_author)
    fields["emojis"] = emojis_of_status(status, emojis, base_url)
    if status.poll is None:
        fields["poll"] = None
    if status.quote_state is None:
        fields["quote"] = None
    if status.local:
        fields["application"] = None
        if status.application_name is not None:
            website = maybe_web_address(status.application_website)
            fields["application"] = {"name": status.application_name, "website": website}
    return fields


def _text(status: Status) -> dict[str, object]:
    return {
        "id": str(status.id),
        "uri": status.uri,
        "url": maybe_web_address(status.url),
        "created_at": instant(status.created_at),
        "edited_at": maybe_instant(status.edited_at),
        "visibility": status.visibility,
        "sensitive": status.sensitive,
        "spoiler_text": status.spoiler_text,
        "language": status.language,
        "in_reply_to_id": _id(status.in_reply_to_id),
        "in_reply_to_account_id": _id(status.in_reply_to_account_id),
    }


def _counts(status: Status) -> dict[str, object]:
    return {
        "replies_count": status.replies_count,
        "reblogs_count": status.reblogs_count,
        "favourites_count": status.favourites_count,
        "quotes_count": status.quotes_count,
    }


def _attached(status: Status, base_url: str, card_author: CardAuthor | None) -> dict[str, object]:
    return {
        "media_attachments": [media_fields(medium, base_url) for medium in status.media],
        "mentions": [
            {
                "id": str(mention.id),
                "username": mention.username,
                "url": web_address(mention.url),
                "acct": mention.acct,
            }
            for mention in status.mentions
        ],
        "tags": [{"name": tag.name, "url": tag_url(base_url, tag.name)} for tag in status.tags],
        "card": None if status.card is None else card_fields(status.card, base_url, card_author),
    }


def _id(value: int | None) -> str | None:
    return None if value is None else str(value)


def approval_json(status: Quotable, viewer: Perspective) -> bytes:
    """Return who may quote a status, and if the viewer may."""
    known = _APPROVALS.get(key := (status.quote_policy, status.quote_manual_policy, approval_for(status, viewer)))
    return known or _APPROVALS.setdefault(key, _approval(*key))


def quote_json(state: str, quoted: bytes) -> bytes:
    return b'{"state":"%b","quoted_status":%b}' % (state.encode(), quoted)


def variant(shown: ShownStatus, viewer: Perspective) -> str:
    """Return a cache key. Viewers with equal keys have equal permissions for the quotes of a status."""
    original = shown.boosted or shown
    name = approval_for(original.status, viewer)
    if original.quoted is None:
        return name
    quoted = original.quoted
    nested = quote_state(quoted, viewer)
    return f"{name} {quote_state(original, viewer)} {approval_for(quoted.status, viewer)} {nested}"


def _approval(policy: str, manual_policy: str, current: Approval) -> bytes:
    return orjson.dumps({"automatic": _kinds(policy), "manual": _kinds(manual_policy), "current_user": current})


def _kinds(policy: str) -> list[str]:
    return [] if policy == NOT_QUOTABLE else [policy]


_APPROVALS: dict[tuple[str, str, Approval], bytes] = {}


def poll_fields(
    poll: Poll, now: datetime, viewer: int | None, votes: tuple[int, ...], emojis: list[dict[str, object]]
) -> dict[str, object]:
    """Return the poll, with a viewer's votes if there is a viewer. `emojis` are the emoji of its options.

    A poll is not cached, because it changes at its end.
    """
    expired = poll.expired(now)
    fields: dict[str, object] = {
        "id": str(poll.id),
        "expires_at": maybe_instant(poll.expires_at),
        "expired": expired,
        "multiple": poll.multiple,
        "votes_count": sum(option.votes for option in poll.options),
        "voters_count": poll.voters_count,
        "options": [
            {"title": option.title.strip(), "votes_count": option.votes if expired or not poll.hide_totals else None}
            for option in poll.options
        ],
        "emojis": emojis,
    }
    if viewer is not None:
        # The author of a poll counts as having voted: clients then show the results in place of the form.
        fields |= {"voted": bool(votes) or viewer == poll.account_id, "own_votes": list(votes)}
    return fields
