"""Statuses and accounts as the templates show them: addresses, texts and numbers, with every choice made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ...actors.rules.visibility import ANONYMOUS
from ...actors.statuses import ShownStatus, quote_state
from ...storage.accounts import Account
from ...storage.media import Media
from ...storage.polls import Poll
from ..entities.account import avatar_url
from ..entities.media import media_fields
from ..entities.poll import poll_fields
from ..views.titles import name_of

# Pages name pictures without the server, so that they are seen under each name of it.
HERE = ""
DEEPEST = 4  # of replies that are shown further and further to the right
NO_LANGUAGE = ""
NO_HANDLES: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class Moment:
    """A time for programs and for people."""

    iso: str
    day: str
    words: str


@dataclass(frozen=True, slots=True)
class Byline:
    """An account in a line: above its posts, and where it has boosted."""

    name: str
    handle: str
    path: str
    avatar: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """One picture, video or sound."""

    type: str
    url: str
    preview: str | None
    description: str
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True)
class PollOption:
    """An option of a poll. `percent` is None while the author hides the votes."""

    title: str
    percent: int | None


@dataclass(frozen=True, slots=True)
class PollResults:
    """A poll as far as its votes may be seen."""

    options: list[PollOption]
    voters: int
    ends: Moment | None
    ended: bool


@dataclass(frozen=True, slots=True)
class PostView:
    """A status, or the original of a boost."""

    id: int
    path: str
    author: Byline
    booster: Byline | None
    answered: str | None  # the handle of the account that it answers; empty if that is not known
    content: str  # safe HTML
    warning: str
    language: str
    made: Moment
    edited: Moment | None
    media: list[Attachment]
    sensitive: bool
    poll: PollResults | None
    replies: int
    boosts: int
    favourites: int
    application: str | None
    quoted: PostView | None
    hides_quoted: bool  # True if it quotes a status that can't be shown
    depth: int = 0


def post_of(
    shown: ShownStatus, now: datetime, domain: str, known: Mapping[int, str] = NO_HANDLES, depth: int = 0
) -> PostView:
    """Return a status for a page.

    `domain` is this server's, for the handles of its accounts. `known` has the handles of accounts by id, so that a
    reply can name the account that it answers.
    """
    booster = None if shown.boosted is None else byline(shown.author, domain)
    original = shown.boosted or shown
    status, quoted = original.status, quoted_in(original)
    return PostView(
        id=status.id,
        path=path_of(original),
        author=byline(original.author, domain),
        booster=booster,
        answered=_answered(original, known, domain),
        content=status.content,
        warning=status.spoiler_text,
        language=status.language or NO_LANGUAGE,
        made=moment(status.created_at),
        edited=None if status.edited_at is None else moment(status.edited_at),
        media=[found for one in status.media if (found := _attachment(one)) is not None],
        sensitive=status.sensitive or original.author.sensitized_at is not None,
        poll=None if status.poll is None else _results(status.poll, now),
        replies=status.replies_count,
        boosts=status.reblogs_count,
        favourites=status.favourites_count,
        application=status.application_name,
        quoted=None if quoted is None else _without_quote(post_of(quoted, now, domain, known)),
        hides_quoted=status.quote_state is not None and quoted is None,
        depth=depth,
    )


def posts_in(shown: Sequence[ShownStatus], now: datetime, domain: str) -> list[PostView]:
    """Return the statuses of a list."""
    known = handles_in(shown, domain)
    return [post_of(one, now, domain, known) for one in shown]


def replies_in(shown: Sequence[ShownStatus], now: datetime, domain: str, known: Mapping[int, str]) -> list[PostView]:
    """Return the replies below a status, each with its depth. They are in the order of the thread."""
    depths: dict[int, int] = {}
    for one in shown:
        depths[one.id] = depths.get(one.status.in_reply_to_id or 0, 0) + 1
    return [post_of(one, now, domain, known, min(depths[one.id], DEEPEST)) for one in shown]


def handles_in(shown: Iterable[ShownStatus], domain: str) -> dict[int, str]:
    """Return the handles of the authors by id."""
    return {one.author.id: _handle(one.author, domain) for one in shown}


def quoted_in(shown: ShownStatus) -> ShownStatus | None:
    """Return the status that a status quotes, if everybody may see it there."""
    return shown.quoted if quote_state(shown, ANONYMOUS) == "accepted" else None


def byline(account: Account, domain: str) -> Byline:
    """Return an account for the line above a post."""
    path = f"/@{account.username}" if account.local else account.url or account.uri
    return Byline(name_of(account), _handle(account, domain), path, avatar_url(account, HERE))


def path_of(shown: ShownStatus) -> str:
    """Return where a status is shown: on this server if it was written here, else on its own."""
    status = shown.status
    return f"/@{shown.author.username}/{status.id}" if shown.author.local else status.url or status.uri


def moment(value: datetime) -> Moment:
    """Return a time in UTC: a page without scripts does not know the reader's time zone."""
    utc = value.astimezone(UTC)
    day = f"{utc.day} {utc:%b %Y}"
    return Moment(f"{utc:%Y-%m-%dT%H:%M:%SZ}", day, f"{day}, {utc:%H:%M} UTC")


def _without_quote(post: PostView) -> PostView:
    """A quoted status, of which a page shows no quote of its own."""
    return replace(post, quoted=None, hides_quoted=False)


def _handle(account: Account, domain: str) -> str:
    return f"@{account.username}@{account.domain or domain}"


def _answered(shown: ShownStatus, known: Mapping[int, str], domain: str) -> str | None:
    """The handle of the account that a status answers; empty if it is neither known nor mentioned."""
    status, answered = shown.status, shown.status.in_reply_to_account_id
    if status.in_reply_to_id is None:
        return None
    if answered == status.account_id:
        return _handle(shown.author, domain)
    named = (f"@{one.username}@{one.domain or domain}" for one in status.mentions if one.id == answered)
    return next(named, known.get(answered or 0, ""))


def _attachment(media: Media) -> Attachment | None:
    """An attachment that can be shown: it is processed, and its file is on this server."""
    if media.file is None:
        return None
    fields: dict[str, Any] = media_fields(media, HERE)  # the JSON of the API
    size: dict[str, Any] = media.meta.get("original", {})
    return Attachment(
        media.type, fields["url"], fields["preview_url"], media.description, size.get("width"), size.get("height")
    )


def _results(poll: Poll, now: datetime) -> PollResults:
    fields: dict[str, Any] = poll_fields(
        poll, now, None, (), []
    )  # the JSON of the API, which hides what must be hidden
    voters = fields["voters_count"] if poll.multiple else fields["votes_count"]
    options = [PollOption(one["title"], _percent(one["votes_count"], voters)) for one in fields["options"]]
    ends = None if poll.expires_at is None else moment(poll.expires_at)
    return PollResults(options, voters or 0, ends, fields["expired"])


def _percent(votes: int | None, voters: int | None) -> int | None:
    if votes is None:
        return None
    return round(100 * votes / voters) if voters else 0
