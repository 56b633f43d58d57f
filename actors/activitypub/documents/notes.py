"""Notes and questions: statuses of this server as other servers read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ....storage.engine.json_values import JsonObject
from ....storage.media import Media
from ....storage.polls import Poll
from ....storage.statuses import Status
from ...kept.custom_emojis import CustomEmojis
from ...rules.markup import anchor, escape, escape_attribute
from ...shown.statuses import ShownStatus
from ..names import LocalNames
from ..vocabulary import PUBLIC
from .contexts import NOTE_CONTEXT, QUOTE_CONTEXT
from .tags import emojis_in, hashtag_of, image_of, instant

QUOTED = ("accepted", "pending")


@dataclass(frozen=True, slots=True)
class References:
    """URIs that a document names and the records of a status don't have.

    `people` are the accounts that the status mentions, also silently, by their ids. `quoted` and `quoted_page` belong
    to the status that it quotes. `quote_authorization` is the document that allows the quote.
    """

    people: Mapping[int, str] = field(default_factory=dict[int, str])
    parent: str | None = None
    quoted: str | None = None
    quoted_page: str | None = None
    quote_authorization: str | None = None


@dataclass(frozen=True, slots=True)
class Addressees:
    """The actors and collections that an object is addressed to."""

    to: list[str]
    cc: list[str]

    @property
    def fields(self) -> JsonObject:
        return {"to": self.to, "cc": self.cc}


def note_of(
    shown: ShownStatus, names: LocalNames, references: References, emojis: CustomEmojis, now: datetime
) -> JsonObject:
    """Return the Note of a status of this server, or the Question if it has a poll."""
    status, uri = shown.status, shown.status.uri
    content = _content(status, references)
    note: JsonObject = {
        "@context": NOTE_CONTEXT,
        "id": uri,
        "type": "Note" if status.poll is None else "Question",
        "attributedTo": names.actor(shown.author.username),
        **audience_of(shown, names, references).fields,
        "published": instant(status.created_at),
        "url": status.url or uri,
        "content": content,
        "summary": status.spoiler_text or None,
        "sensitive": status.sensitive or (shown.author.sensitized_at is not None and bool(status.media)),
        "inReplyTo": references.parent,
        "tag": _tags(status, names, references, emojis),
        "attachment": [_attachment(medium, names) for medium in status.media if medium.file is not None],
        "replies": {"id": f"{uri}/replies", "type": "Collection", "first": f"{uri}/replies?page=true"},
        "likes": {"id": f"{uri}/likes", "type": "Collection", "totalItems": status.favourites_count},
        "shares": {"id": f"{uri}/shares", "type": "Collection", "totalItems": status.reblogs_count},
        "interactionPolicy": {"canQuote": _can_quote(shown, names)},
    }
    if status.language is not None:
        note["contentMap"] = {status.language: content}
    if status.edited_at is not None:
        note["updated"] = instant(status.edited_at)
    if status.quote_state is not None:
        note |= _quote(status, references)
    if status.poll is not None:
        note |= _question(status.poll, now)
    return note


def audience_of(shown: ShownStatus, names: LocalNames, references: References) -> Addressees:
    """Return the addressees of a status of this server. A boost also names the author of the original."""
    status = shown.status
    followers = names.followers(shown.author.username)
    people = [uri for id in status.mentioned_ids if (uri := references.people.get(id)) is not None]
    if shown.boosted is not None:
        people.append(shown.boosted.author.uri)
    match status.visibility:
        case "public":
            return Addressees([PUBLIC], [followers, *people])
        case "unlisted":
            return Addressees([followers], [PUBLIC, *people])
        case "private":
            return Addressees([followers], people)
        case _:
            return Addressees(people, [])


def quote_authorization_of(uri: str, author: str, quoting: str, quoted: str) -> JsonObject:
    """Return the document by which an author allows the status `quoting` to quote the status `quoted`."""
    return {
        "@context": QUOTE_CONTEXT,
        "id": uri,
        "type": "QuoteAuthorization",
        "attributedTo": author,
        "interactingObject": quoting,
        "interactionTarget": quoted,
    }


def _content(status: Status, references: References) -> str:
    """Return the HTML. For servers without quotes a link to the quoted status is put before it; others remove it.

    The link is left out if the text has it already.
    """
    page = references.quoted_page or references.quoted
    if status.quote_state not in QUOTED or page is None or f'href="{escape_attribute(page)}"' in status.content:
        return status.content
    link = anchor({"href": escape_attribute(page)})
    return f'<p class="quote-inline">RE: {link}{escape(page)}</a></p>{status.content}'


def _tags(status: Status, names: LocalNames, references: References, emojis: CustomEmojis) -> list[JsonObject]:
    mentions = [
        {"type": "Mention", "href": uri, "name": f"@{account.username}@{account.domain or names.domain}"}
        for account in status.mentions
        if (uri := references.people.get(account.id)) is not None
    ]
    options = [] if status.poll is None else [option.title for option in status.poll.options]
    return [
        *mentions,
        *(hashtag_of(tag.name, tag.display_name, names) for tag in status.tags),
        *emojis_in([status.spoiler_text, status.text, *options], emojis, names),
    ]


def _attachment(media: Media, names: LocalNames) -> JsonObject:
    """Return an attachment. Some servers read its description in `name`, others in `summary`."""
    description = media.description or None
    attachment: JsonObject = {
        "type": "Document",
        "mediaType": media.file_type,
        "url": names.file(media.file or ""),
        "name": description,
        "summary": description,
        "blurhash": media.blurhash,
    }
    size, focus = media.meta.get("original", {}), media.meta.get("focus")
    attachment |= {name: size[name] for name in ("width", "height") if name in size}
    if focus is not None:
        attachment["focalPoint"] = [focus["x"], focus["y"]]
    if media.thumbnail_file is not None and media.type in ("audio", "video"):
        attachment["icon"] = image_of(media.thumbnail_file, names)
    return attachment


def _can_quote(shown: ShownStatus, names: LocalNames) -> JsonObject:
    """Return the policy of FEP-044f: who may quote at once, and who after the author agreed."""
    status, author = shown.status, names.actor(shown.author.username)
    scopes = {"public": [PUBLIC], "followers": [names.followers(shown.author.username)]}
    return {
        # An empty list would leave the author out too.
        "automaticApproval": scopes.get(status.quote_policy, [author]),
        "manualApproval": scopes.get(status.quote_manual_policy, []),
    }


def _quote(status: Status, references: References) -> JsonObject:
    """Return the quote under the names of FEP-044f and two earlier names. The reason why a quote has ended is not
    published."""
    quoted = references.quoted
    if status.quote_state not in QUOTED or quoted is None:
        return {"quote": {"type": "Tombstone"}}
    quote: JsonObject = {"quote": quoted, "quoteUri": quoted, "_misskey_quote": quoted}
    if references.quote_authorization is not None:
        quote["quoteAuthorization"] = references.quote_authorization
    return quote


def _question(poll: Poll, now: datetime) -> JsonObject:
    """Return the parts of a poll. Counts that are hidden until the end are sent as 0."""
    expired = poll.expired(now)
    shows_counts = expired or not poll.hide_totals
    options = [
        {
            "type": "Note",
            "name": option.title,
            "replies": {"type": "Collection", "totalItems": option.votes if shows_counts else 0},
        }
        for option in poll.options
    ]
    question: JsonObject = {"anyOf" if poll.multiple else "oneOf": options, "votersCount": poll.voters_count}
    if poll.expires_at is not None:
        question["endTime"] = instant(poll.expires_at)
        if expired:
            question["closed"] = instant(poll.expires_at)
    return question
