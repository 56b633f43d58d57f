"""The kinds of streams, with their events, scopes and feeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ...actors.broadcast.broadcast import (
    PUBLIC_ALL,
    PUBLIC_LOCAL,
    PUBLIC_REMOTE,
    home_address,
    list_address,
    tag_address,
)
from ...actors.broadcast.events import (
    AnnouncementGone,
    AnnouncementShown,
    ConversationShown,
    FiltersChanged,
    NotificationShown,
    NotificationsMerged,
    ReactionCounted,
    StatusAmended,
    StatusAppeared,
    StatusGone,
)
from ...actors.kernel import Address, Event
from ...actors.rules import scopes
from ...actors.rules.scan import HASHTAG_CHARACTERS
from ...actors.rules.text import tag_name
from ...storage.oauth import Token
from ..answers.errors import Malformed, Unauthorized
from ..intake.parameters import Flag, Input, Text, is_id

Shows = frozenset[type[Event]]

STATUSES: Shows = frozenset({StatusAppeared, StatusAmended, StatusGone})
NOTIFICATIONS: Shows = frozenset({NotificationShown, NotificationsMerged})
EDITS: Shows = frozenset({StatusAmended})
ANNOUNCED: Shows = frozenset({AnnouncementShown, AnnouncementGone, ReactionCounted})
OWN: Shows = STATUSES | ANNOUNCED | {FiltersChanged}
CONVERSATIONS: Shows = frozenset({ConversationShown})

READ_STATUSES = ("read:statuses",)
READ_NOTIFICATIONS = ("read:notifications",)

Parameter = Literal["tag", "list"]

LONGEST_TAG = HASHTAG_CHARACTERS + 1  # with `#` in front
NOT_OWN_LIST = "Not authorized to stream this list"


@dataclass(frozen=True, slots=True)
class Channel:
    """A kind of stream. `place` is a public timeline. Without a place and a parameter it is the viewer's own."""

    name: str
    shows: Shows
    scopes: tuple[str, ...] = READ_STATUSES
    place: Address | None = None
    only_media: bool = False
    only_local: bool = False
    only_notified: bool = False  # of edits, only edits of statuses that the viewer was notified of
    parameter: Parameter | None = None

    @property
    def public(self) -> bool:
        """True if the stream shows public statuses, so that it needs no token."""
        return self.place is not None or self.parameter == "tag"


def _public(name: str, place: Address) -> tuple[Channel, Channel]:
    return Channel(name, STATUSES, place=place), Channel(f"{name}:media", STATUSES, place=place, only_media=True)


CHANNELS = {
    channel.name: channel
    for channel in (
        Channel("user", OWN),
        Channel("user:notification", NOTIFICATIONS | EDITS, READ_NOTIFICATIONS, only_notified=True),
        *_public("public", PUBLIC_ALL),
        *_public("public:local", PUBLIC_LOCAL),
        *_public("public:remote", PUBLIC_REMOTE),
        Channel("hashtag", STATUSES, parameter="tag"),
        Channel("hashtag:local", STATUSES, only_local=True, parameter="tag"),
        Channel("list", STATUSES, parameter="list"),
        Channel("direct", CONVERSATIONS),
    )
}


class StreamQuery(Input):
    """The stream that a client names, in a URL or in a frame, and the id of the last event that it has received."""

    stream: Text = ""
    tag: Text = ""
    list: Text = ""
    only_media: Flag = False
    since: Text = ""


@dataclass(frozen=True, slots=True)
class RequestedStream:
    """A stream that a client requests. `parameter` is not normalized."""

    channel: Channel
    parameter: str = ""

    @property
    def tag(self) -> str | None:
        """The normalized hashtag; None for other kinds of streams."""
        return tag_name(self.parameter) if self.channel.parameter == "tag" else None

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the stream: equal for different spellings of a hashtag."""
        return self.channel.name, self.tag or self.parameter

    @property
    def label(self) -> tuple[str, ...]:
        """The name of the stream in frames."""
        return (self.channel.name, self.parameter) if self.channel.parameter else (self.channel.name,)

    def address(self, account_id: int | None) -> Address | None:
        """Return the actor of the stream's feed; None for a stream without a feed."""
        if self.channel.place is not None:
            return self.channel.place
        if self.tag is not None:
            return tag_address(self.tag)
        if self.channel.parameter == "list":
            return list_address(int(self.parameter))
        if account_id is None:
            return None
        return home_address(account_id)

    def shows(self, token: Token | None) -> Shows:
        """Return the classes of events. The `user` stream includes notifications if the token may read them."""
        if self.channel.name == "user" and token and scopes.granted(token.scopes, READ_NOTIFICATIONS):
            return self.channel.shows | NOTIFICATIONS
        return self.channel.shows


def by_name(query: StreamQuery) -> RequestedStream:
    """Return the stream in a query of a WebSocket. Raises Malformed."""
    channel = CHANNELS.get(query.stream)
    if channel is None:
        raise Malformed("Unknown stream type")
    return RequestedStream(channel, _parameter(channel, query))


def by_path(path: str, parameters: Mapping[str, object]) -> RequestedStream:
    """Return the stream of a path below the streaming API. The parameter `only_media` selects the media variants."""
    query = StreamQuery.read(parameters)
    name = path.replace("/", ":") if ":" not in path and not path.endswith("/media") else ""
    if query.only_media and f"{name}:media" in CHANNELS:
        name += ":media"
    channel = CHANNELS.get(name)
    if channel is None:
        raise Malformed("Unknown channel requested")
    return RequestedStream(channel, _parameter(channel, query))


def check(wanted: RequestedStream, token: Token | None) -> None:
    """Refuse a stream that the token may not open, or whose name is incomplete."""
    channel = wanted.channel
    if token is None and not channel.public:
        raise Unauthorized("Missing access token")
    if token is not None and not scopes.granted(token.scopes, channel.scopes):
        raise Unauthorized("Access token does not have the required scopes", error="insufficient_scope")
    if channel.parameter == "tag" and not wanted.tag:
        raise Malformed("Missing tag name parameter")
    if channel.parameter == "list":
        if not wanted.parameter:
            raise Malformed("Missing list name parameter")
        if not is_id(wanted.parameter):
            raise Unauthorized(NOT_OWN_LIST)


def _parameter(channel: Channel, query: StreamQuery) -> str:
    match channel.parameter:
        case "tag":
            # Frames repeat the client's spelling, so it needs a bound. No status has a longer hashtag.
            if len(query.tag) > LONGEST_TAG:
                raise Malformed("The tag name is too long")
            return query.tag
        case "list":
            return query.list
        case None:
            return ""
