"""The URIs of this server's own things: how they are made, and what a URI names."""

from __future__ import annotations

import re
from dataclasses import dataclass

USERNAME = r"[A-Za-z0-9_]{1,30}"
STATUS = re.compile(rf"/users/({USERNAME})/statuses/([0-9]{{1,19}})")
PROFILE = re.compile(rf"/@({USERNAME})")
STATUS_PAGE = re.compile(rf"/@({USERNAME})/([0-9]{{1,19}})")
ACTOR = re.compile(rf"/users/({USERNAME})")


@dataclass(frozen=True, slots=True)
class LocalStatusName:
    """The name of one of this server's statuses, which need not exist."""

    username: str
    id: int


@dataclass(frozen=True, slots=True)
class LocalNames:
    """The names below `base_url`, such as `https://troupe.test`."""

    base_url: str

    @property
    def domain(self) -> str:
        """The domain in the handles of this server's accounts."""
        return self.base_url.partition("://")[2]

    @property
    def server_actor(self) -> str:
        """The actor that signs requests that no account makes."""
        return f"{self.base_url}/actor"

    @property
    def shared_inbox(self) -> str:
        return f"{self.base_url}/inbox"

    def actor(self, username: str) -> str:
        return f"{self.base_url}/users/{username}"

    def inbox(self, username: str) -> str:
        return f"{self.actor(username)}/inbox"

    def outbox(self, username: str) -> str:
        return f"{self.actor(username)}/outbox"

    def followers(self, username: str) -> str:
        return f"{self.actor(username)}/followers"

    def followers_synchronization(self, username: str) -> str:
        """The part of an actor's followers that the server which asks for it has."""
        return f"{self.actor(username)}/followers_synchronization"

    def following(self, username: str) -> str:
        return f"{self.actor(username)}/following"

    def featured(self, username: str) -> str:
        """The collection of an actor's pinned statuses."""
        return f"{self.actor(username)}/collections/featured"

    def featured_tags(self, username: str) -> str:
        return f"{self.actor(username)}/collections/tags"

    def status(self, username: str, id: int) -> str:
        return f"{self.actor(username)}/statuses/{id}"

    def quote_authorization(self, username: str, quoting_id: int) -> str:
        """The document by which an actor allows a status to quote one of its own. `quoting_id` is this server's id."""
        return f"{self.actor(username)}/quote_authorizations/{quoting_id}"

    def activity(self, username: str, kind: str, number: int) -> str:
        """The id of an activity that has no document of its own: one of the actor's `kind` such as `follows`."""
        return f"{self.actor(username)}#{kind}/{number}"

    def emoji(self, id: int) -> str:
        return f"{self.base_url}/emojis/{id}"

    def file(self, name: str) -> str:
        """The address of a file of the media folder."""
        return f"{self.base_url}/media/{name}"

    def is_local(self, uri: str) -> bool:
        """True for a URI of this server, also for one that names nothing."""
        return uri == self.base_url or uri.startswith(f"{self.base_url}/")

    def username_of(self, uri: str) -> str | None:
        """Return the user that a URI names, if it is the id of an actor."""
        found = ACTOR.fullmatch(self._path(uri))
        return found[1] if found else None

    def profile_of(self, url: str) -> str | None:
        """Return the user whose profile is the page of a URL."""
        found = PROFILE.fullmatch(self._path(url))
        return found[1] if found else None

    def status_page_of(self, url: str) -> LocalStatusName | None:
        """Return the status whose page is at a URL."""
        found = STATUS_PAGE.fullmatch(self._path(url))
        return LocalStatusName(found[1], int(found[2])) if found else None

    def status_of(self, uri: str) -> LocalStatusName | None:
        """Return the status that a URI names, if it is the id of one."""
        found = STATUS.fullmatch(self._path(uri))
        return LocalStatusName(found[1], int(found[2])) if found else None

    def _path(self, uri: str) -> str:
        return uri.removeprefix(self.base_url) if self.is_local(uri) else ""


def key_id_of(actor_uri: str) -> str:
    """Return the id under which an actor of this server signs."""
    return f"{actor_uri}#main-key"
