"""Statuses and accounts for templates: URLs, texts and numbers, so that templates decide little.

Fields that end with `_html` are safe HTML, which templates do not escape. All other texts are plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from ...actors.rules.visibility import ANONYMOUS
from ...actors.shown.statuses import ShownStatus, quote_state
from ...storage.accounts import Account
from ...storage.custom_emojis import RemoteEmoji
from ...storage.engine.json_values import JsonObject
from ...storage.media import Media
from ...storage.polls import Poll
from ...storage.preview_cards import PreviewCard
from ...storage.statuses import Status
from ..access.context import HttpContext
from ..entities.account import avatar_url
from ..entities.media import file_address, media_fields
from ..entities.status import poll_fields
from ..pages.times import ShownTime, shown_time
from ..views.titles import name_of
from .emojis import HERE, FindEmoji, html_with_emojis, local_emojis, remote_emojis, text_with_emojis

DEEPEST = 4  # the largest indentation of replies
NO_LANGUAGE = ""
NO_HANDLES: Mapping[int, str] = {}


@dataclass(frozen=True, slots=True)
class Byline:
    """An account in a line: the author above a post, or the account that has boosted it."""

    name: str
    name_html: str
    handle: str
    path: str
    avatar: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A picture, video or sound."""

    type: str
    url: str
    preview: str | None
    description: str
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True)
class PollOption:
    """An option of a poll. `percent` is None while the author hides the votes."""

    title_html: str
    percent: int | None


@dataclass(frozen=True, slots=True)
class PollResults:
    """A poll with the votes that may be shown."""

    options: list[PollOption]
    voters: int
    ends: ShownTime | None
    ended: bool


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """The preview of a page to which a status links."""

    url: str
    title: str
    provider: str
    description: str
    language: str
    image: str | None
    image_description: str


@dataclass(frozen=True, slots=True)
class PostView:
    """A status, or the original of a boost."""

    id: int
    path: str
    author: Byline
    booster: Byline | None
    answered: str | None  # the handle of the account that it answers; empty if unknown; None if it is no reply
    content_html: str
    warning_html: str
    language: str
    made: ShownTime
    edited: ShownTime | None
    media: list[Attachment]
    sensitive: bool
    poll: PollResults | None
    link: LinkedPage | None
    replies: int
    boosts: int
    favourites: int
    application: str | None
    quoted: PostView | None
    hides_quoted: bool  # True if it quotes a status that can't be shown
    depth: int = 0


def post_of(
    context: HttpContext, shown: ShownStatus, known: Mapping[int, str] = NO_HANDLES, depth: int = 0
) -> PostView:
    """Return a status for a page. `known` has handles by account id, for the account that a reply answers."""
    domain, now = context.settings.local_domain, context.clock.now()
    booster = None if shown.boosted is None else byline(context, shown.author)
    original = shown.boosted or shown
    status, quoted = original.status, quoted_in(original)
    emojis = local_emojis(context.rendered.emojis) if status.local else remote_emojis(status.emojis)
    sensitive = status.sensitive or original.author.sensitized_at is not None
    return PostView(
        id=status.id,
        path=path_of(original),
        author=byline(context, original.author),
        booster=booster,
        answered=_answered(original, known, domain),
        content_html=html_with_emojis(status.content, emojis),
        warning_html=text_with_emojis(status.spoiler_text, emojis),
        language=status.language or NO_LANGUAGE,
        made=shown_time(status.created_at, now),
        edited=None if status.edited_at is None else shown_time(status.edited_at, now),
        media=[attachment for medium in status.media if (attachment := _attachment(medium)) is not None],
        sensitive=sensitive,
        poll=None if status.poll is None else _results(status.poll, now, emojis),
        link=_link(status, sensitive=sensitive),
        replies=status.replies_count,
        boosts=status.reblogs_count,
        favourites=status.favourites_count,
        application=status.application_name,
        # Pages do not show the quote of a quoted status.
        quoted=None if quoted is None else replace(post_of(context, quoted, known), quoted=None, hides_quoted=False),
        hides_quoted=status.quote_state is not None and quoted is None,
        depth=depth,
    )


def posts_in(context: HttpContext, shown: Sequence[ShownStatus]) -> list[PostView]:
    """Return the statuses of a list."""
    known = handles_in(shown, context.settings.local_domain)
    return [post_of(context, status, known) for status in shown]


def replies_in(context: HttpContext, shown: Sequence[ShownStatus], known: Mapping[int, str]) -> list[PostView]:
    """Return the replies below a status, each with its depth. They are in the order of the thread."""
    depths: dict[int, int] = {}
    for reply in shown:
        depths[reply.id] = depths.get(reply.status.in_reply_to_id or 0, 0) + 1
    return [post_of(context, reply, known, min(depths[reply.id], DEEPEST)) for reply in shown]


def handles_in(shown: Iterable[ShownStatus], domain: str) -> dict[int, str]:
    """Return the handles of the authors by id."""
    return {status.author.id: _handle(status.author, domain) for status in shown}


def quoted_in(shown: ShownStatus) -> ShownStatus | None:
    """Return the status that a status quotes, if visitors may see it there."""
    return shown.quoted if quote_state(shown, ANONYMOUS) == "accepted" else None


def byline(context: HttpContext, account: Account) -> Byline:
    """Return an account for the line above a post."""
    name = name_of(account)
    return Byline(
        name,
        text_with_emojis(name, emojis_of(context, account)),
        _handle(account, context.settings.local_domain),
        f"/@{account.username}" if account.local else account.url or account.uri,
        avatar_url(account, HERE),
    )


def emojis_of(context: HttpContext, account: Account) -> FindEmoji:
    """Return the emoji that the texts of an account may use."""
    if account.local:
        return local_emojis(context.rendered.emojis)
    shown = account.emojis or () if account.suspended_at is None else ()
    return remote_emojis(RemoteEmoji(*emoji) for emoji in shown)


def path_of(shown: ShownStatus) -> str:
    """Return the path of a local status, or the URL of a status on its own server."""
    status = shown.status
    return f"/@{shown.author.username}/{status.id}" if shown.author.local else status.url or status.uri


def _handle(account: Account, domain: str) -> str:
    return f"@{account.username}@{account.domain or domain}"


def _answered(shown: ShownStatus, known: Mapping[int, str], domain: str) -> str | None:
    """Return the handle of the account that a status answers; empty if it is neither known nor mentioned."""
    status, answered = shown.status, shown.status.in_reply_to_account_id
    if status.in_reply_to_id is None:
        return None
    if answered == status.account_id:
        return _handle(shown.author, domain)
    mentioned = (f"@{who.username}@{who.domain or domain}" for who in status.mentions if who.id == answered)
    return next(mentioned, known.get(answered or 0, ""))


def _attachment(media: Media) -> Attachment | None:
    """Return an attachment; None if it has no URL, because it is not processed yet."""
    fields: JsonObject = media_fields(media, HERE)  # the JSON of the API
    if fields["url"] is None:
        return None
    size: JsonObject = media.meta.get("original", {})
    return Attachment(
        media.type, fields["url"], fields["preview_url"], media.description, size.get("width"), size.get("height")
    )


def _link(status: Status, *, sensitive: bool) -> LinkedPage | None:
    """Return the preview of a link, if the status has no media and no quote. Sensitive statuses have no image."""
    if status.card is None or status.media or status.quote_state is not None:
        return None
    return _linked_page(status.card, with_image=not sensitive)


def _linked_page(card: PreviewCard, *, with_image: bool) -> LinkedPage:
    facts = card.facts
    return LinkedPage(
        url=card.url,
        title=facts.title,
        provider=facts.provider_name or urlsplit(card.url).hostname or "",
        description=facts.description,
        language=facts.language or NO_LANGUAGE,
        image=file_address(facts.image_file, HERE) if with_image else None,
        image_description=facts.image_description,
    )


def _results(poll: Poll, now: datetime, emojis: FindEmoji) -> PollResults:
    fields: JsonObject = poll_fields(poll, now, None, (), [])  # the JSON of the API, which leaves out hidden votes
    voters = fields["voters_count"] if poll.multiple else fields["votes_count"]
    options = [
        PollOption(text_with_emojis(option["title"], emojis), _percent(option["votes_count"], voters))
        for option in fields["options"]
    ]
    ends = None if poll.expires_at is None else shown_time(poll.expires_at, now)
    return PollResults(options, voters or 0, ends, fields["expired"])


def _percent(votes: int | None, voters: int | None) -> int | None:
    if votes is None:
        return None
    return round(100 * votes / voters) if voters else 0
