"""Reads profiles from the documents of actors, within limits.

Addresses count only on the actor's own host, or on the domain of its handle: a document can't make this server send
requests to a third server. Only the inbox may be elsewhere, with the shared inbox beside it. Texts and lists that are
too long are cut. Names and addresses that are too long are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject, is_object
from ...storage.federation.actor_keys import ActorKey
from ...storage.federation.remote_accounts import RemoteProfile
from ..activitypub.key_documents import keys_of_actor
from ..activitypub.links import page_of, picture_of, with_whole_links
from ..activitypub.notes import EARLIEST, read_emojis, time_of
from ..activitypub.uris import normal_uri
from ..activitypub.vocabulary import (
    LONGEST_URI,
    host_of,
    list_of,
    object_of,
    objects_of,
    same_host,
    text_of,
    types_of,
    uri_of,
    uris_of,
    web_uri_of,
)
from ..rules.domains import is_within
from ..rules.markup import escape, escape_attribute, one_line, sanitise, tidy
from .errors import UntrustedDocument
from .webfinger import Handle, handle_from, handle_in

# PieFed has feeds, which announce the activities of several groups.
ACTORS = frozenset({"Person", "Service", "Group", "Organization", "Application", "Feed"})
BOTS = frozenset({"Service", "Application"})
GROUPS = frozenset({"Group", "Feed"})

HANDLE_SCHEME = "acct:"

DISPLAY_NAME_CHARACTERS = 2_048
NOTE_CHARACTERS = 20_480
FIELDS = 50
FIELD_TAGS = 50  # of a value; a value with more is read as text
MOST_PICTURES = 100  # of a list, of which the first usable is chosen
FIELD_CHARACTERS = 2_047
ALIASES = 256
DESCRIPTION_CHARACTERS = 1_500


def is_actor(document: JsonObject) -> bool:
    return not ACTORS.isdisjoint(types_of(document))


def actor_uri_of(document: JsonObject) -> str:
    """Return the id of an actor's document. Raise UntrustedDocument if rows can't store it, or if it is no actor."""
    uri = web_uri_of(document)
    if not is_actor(document):
        raise UntrustedDocument("the document is not an actor")
    if uri is None or host_of(uri) is None or not uri.isascii() or not uri.isprintable():
        raise UntrustedDocument("the actor has no usable id")
    return uri


def own_handle_of(document: JsonObject) -> Handle:
    """Return the handle that an actor claims: its property `webfinger` (FEP-2c59), or its name on its own host.

    Raise UntrustedDocument if the name is not valid.
    """
    username, host = document.get("preferredUsername"), host_of(actor_uri_of(document))
    handle = handle_in(document.get("webfinger"))
    if handle is None and isinstance(username, str) and host is not None:
        handle = handle_from(username, host)
    if handle is None:
        raise UntrustedDocument("the actor has no usable name")
    return handle


def profile_of(document: JsonObject, handle: Handle, now: datetime) -> RemoteProfile:
    """Return the account in an actor's document. Raise UntrustedDocument if a required property is missing."""
    own = _OwnAddresses(actor_uri_of(document), handle.domain)
    # It may be on another host: services accept deliveries for static sites. That does not let them sign for the actor.
    inbox = _web_address(document.get("inbox"))
    if inbox is None:
        raise UntrustedDocument("the actor has no inbox")
    types = set(types_of(document))
    avatar, header = _picture(document.get("icon"), own.uri), _picture(document.get("image"), own.uri)
    summary = text_of(document.get("summary"), NOTE_CHARACTERS) or ""
    endpoints = object_of(document.get("endpoints")) or {}
    return RemoteProfile(
        username=handle.username,
        domain=handle.domain,
        uri=own.uri,
        url=own.address(page_of(document.get("url"), own.uri)),
        inbox_url=inbox,
        shared_inbox_url=own.address(endpoints.get("sharedInbox"), inbox),
        outbox_url=own.address(document.get("outbox")),
        followers_url=own.address(document.get("followers")),
        following_url=own.address(document.get("following")),
        featured_url=own.address(document.get("featured")),
        public_key=next((key.pem for key in keys_of_actor(document)), None),
        display_name=one_line(text_of(document.get("name"), DISPLAY_NAME_CHARACTERS) or ""),
        note=sanitise(with_whole_links(summary, own.uri), most=2 * NOTE_CHARACTERS),
        fields=_fields(document),
        avatar_remote_url=avatar[0],
        avatar_description=avatar[1],
        header_remote_url=header[0],
        header_description=header[1],
        locked=document.get("manuallyApprovesFollowers") is True,
        bot=not BOTS.isdisjoint(types),
        is_group=not GROUPS.isdisjoint(types),
        discoverable=document.get("discoverable") is True,
        indexable=document.get("indexable") is True,
        memorial=document.get("memorial") is True,
        suspended=document.get("suspended") is True,
        also_known_as=[uri for uri in uris_of(document.get("alsoKnownAs")) if _is_alias(uri)][:ALIASES],
        published_at=_moment(time_of(document.get("published")), now),
        emojis=tuple((emoji.shortcode, emoji.url) for emoji in read_emojis(document)),
    )


def keys_of(document: JsonObject, now: datetime) -> list[ActorKey]:
    """Return the usable keys in an actor's document that are on its own address, so that the document proves them."""
    uri = actor_uri_of(document)
    return [
        ActorKey(key.id, uri, key.pem, now)
        for key in keys_of_actor(document)
        if key.id.partition("#")[0] == uri and key.id.isascii()
    ]


def moved_to(document: JsonObject) -> str | None:
    """Return the URI of the account that an actor claims to have moved to."""
    uri = uri_of(document.get("movedTo"))
    return uri if uri is not None and uri != document.get("id") and host_of(uri) is not None else None


def is_known_as(aliases: Sequence[str], account: Account, domain: str) -> bool:
    """True if another actor's aliases name an account of a `domain`: by its URI, its page or its handle.

    The specification does not say how the alias is written, so that sites write what people have pasted.
    """
    handle = handle_from(account.username, domain)
    named = [handle_in(alias) for alias in aliases if alias.startswith(HANDLE_SCHEME)]
    if handle is not None and any(alias is not None and alias.is_same(handle) for alias in named):
        return True
    own = {_spelled(address) for address in (account.uri, account.url) if address is not None}
    return not own.isdisjoint(map(_spelled, aliases))


def _spelled(address: str) -> str:
    """Return an address as aliases are compared: without its scheme and a slash at its end."""
    return normal_uri(address).partition("://")[2].removesuffix("/")


def _is_alias(uri: str) -> bool:
    return host_of(uri) is not None or (uri.startswith(HANDLE_SCHEME) and handle_in(uri) is not None)


class _OwnAddresses:
    """The addresses that an actor can name for itself."""

    def __init__(self, uri: str, domain: str) -> None:
        self.uri = uri
        self._domain = domain

    def address(self, value: object, neighbour: str = "") -> str | None:
        """Return an address of the actor's host, of the domain of its handle or of the host of a `neighbour`; None for
        others."""
        uri = _web_address(value)
        if uri is None:
            return None
        is_own = same_host(uri, self.uri) or same_host(uri, neighbour) or is_within(host_of(uri) or "", self._domain)
        return uri if is_own else None


def _web_address(value: object) -> str | None:
    uri = web_uri_of(value)
    return uri if uri is not None and host_of(uri) is not None and uri.isascii() and uri.isprintable() else None


def _picture(value: object, base: str) -> tuple[str | None, str]:
    """Return the address and the description of a picture: an object, a text, or the first of a list of these."""
    for picture in list_of(value)[:MOST_PICTURES]:
        url = picture_of(picture, base)
        if url is not None:
            thing: JsonObject = picture if is_object(picture) else {}
            texts = (text_of(thing.get(name), DESCRIPTION_CHARACTERS) for name in ("summary", "name"))
            return url, tidy(next((text for text in texts if text), ""))
    return None, ""


def _fields(document: JsonObject) -> list[JsonObject]:
    """Return the rows of a profile's table.

    Most servers write a PropertyValue for each. FEP-fb2a has notes and links, also beside these values for other
    servers.
    """
    attached = objects_of(document.get("attachment"))
    rows = [row for row in attached if "PropertyValue" in types_of(row)] or attached
    found: list[JsonObject] = []
    for row in rows:
        if len(found) == FIELDS:
            break
        name, value = text_of(row.get("name"), FIELD_CHARACTERS), _value_of(row)
        if name is not None and value is not None:
            # Each answer with a post of the account contains the fields, so their length is limited after sanitising,
            # too.
            value = sanitise(value, FIELD_TAGS, most=2 * FIELD_CHARACTERS)
            found.append({"name": one_line(name), "value": value, "verified_at": None})
    return found


def _value_of(field: JsonObject) -> str | None:
    """Return the value of a row, in HTML; None if the object is no row."""
    types = types_of(field)
    if "PropertyValue" in types:
        return text_of(field.get("value"), FIELD_CHARACTERS)
    if "Note" in types:
        return text_of(field.get("content"), FIELD_CHARACTERS)
    address = text_of(field.get("href"), LONGEST_URI) if "Link" in types else None
    return None if address is None else f'<a href="{escape_attribute(address)}">{escape(address)}</a>'


def _moment(time: datetime | None, now: datetime) -> datetime | None:
    """Return a time, at most `now`; None for a time that must be an error."""
    return None if time is None or time < EARLIEST else min(time, now)
