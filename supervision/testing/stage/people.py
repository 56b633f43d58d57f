"""The users of a simulation, with apps that try again until the server says yes or no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import count
from typing import Protocol, TypeVar

import trio

from ....actors.account import PerspectiveOf
from ....actors.broadcast.broadcast import account_address, home_address
from ....actors.broadcast.viewers import relation_of
from ....actors.commands.blocks import Block, Unblock
from ....actors.commands.followed_tags import FollowTag, UnfollowTag
from ....actors.commands.follows import Follow, Unfollow
from ....actors.commands.mutes import Mute, Unmute
from ....actors.commands.statuses import DeleteStatus, PublishStatus, UnexpectedMentions
from ....actors.kernel import NOWHERE, Address, Clock, Message, NotAnswered, Origin, Refused
from ....actors.rules.visibility import Relation
from ....actors.shown.statuses import ShownStatus, may_see
from ....actors.timelines.home import HomePage
from ....storage import follows, oauth, relations
from ....storage.engine.database import Connection, StorageError
from ....storage.follows import FollowTerms as StoredFollow
from ....storage.oauth import Application, NewToken
from ....storage.secrets import hash_of
from ....storage.upkeep.paging import Page
from ..lockstep import LockstepDatabase
from ..run import Run
from .patience import insist
from .server import ServerPlace
from .stream import Stream

R = TypeVar("R")

SCOPES = ("read", "write", "follow", "push", "profile")
PAGE = 40  # the number of statuses that an app asks for at once

# The rule of the home timeline, for statuses that neither mention nor reply nor boost.
BELONGS_AT_HOME = """
    SELECT s.id FROM statuses s
    WHERE s.deleted_at IS NULL AND (s.account_id = $1 OR (
        (
            s.visibility <> 'direct'
            AND EXISTS (SELECT FROM follows f WHERE f.account_id = $1 AND f.target_account_id = s.account_id)
            OR s.visibility = 'public' AND EXISTS (
                SELECT FROM followed_tags f JOIN status_tags st ON st.tag_id = f.tag_id
                WHERE f.account_id = $1 AND st.status_id = s.id
            )
        )
        AND NOT EXISTS (
            SELECT FROM blocks b WHERE (b.account_id, b.target_account_id) IN (($1, s.account_id), (s.account_id, $1))
        )
        AND NOT EXISTS (SELECT FROM mutes m WHERE m.account_id = $1 AND m.target_account_id = s.account_id)
    ))
    ORDER BY s.id DESC
"""


class Asking(Protocol):
    """The actors of a server."""

    async def ask(self, address: Address, message: Message[R], *, origin: Origin = NOWHERE) -> R: ...


class Served(Protocol):
    """The part of a server, or of several servers on one database, that people use."""

    run: Run
    running: trio.Event
    place: ServerPlace
    database: LockstepDatabase

    @property
    def clock(self) -> Clock: ...

    @property
    def runtime(self) -> Asking: ...

    def new_id(self) -> int: ...

    async def find_shown(self, status: int) -> ShownStatus | None: ...

    async def shown(self, ids: Sequence[int]) -> list[int]: ...

    async def open_stream(self, stream: Stream) -> Stream: ...

    def stream_at(self, name: str, address: Address, read: Callable[[], Awaitable[list[int]]]) -> Stream: ...


class Person:
    """An account and its user. `published` and `deleted` are the ids that the app has received, in that order."""

    def __init__(self, server: Served, id: int, name: str) -> None:
        self.id = id
        self.name = name
        self.published: list[int] = []
        self.deleted: list[int] = []
        self.server = server
        self._keys = count(1)

    async def publish(self, text: str = "hello", *, visibility: str = "public", key: str | None = None) -> int:
        """Publish a status. The app sends the same Idempotency-Key until it knows that the status exists."""
        key = key or f"{self.name}-{next(self._keys)}"
        status = await self.insist(PublishStatus(text, visibility=visibility, idempotency_key=key))
        if isinstance(status, UnexpectedMentions):
            raise TypeError("the app allows all mentions")
        if status.id not in self.published:
            self.published.append(status.id)
        return status.id

    async def delete(self, status: int) -> None:
        """Delete an own status. For an app that asks again, `not found` means done."""
        try:
            await self.insist(DeleteStatus(status))
        except Refused as refusal:
            if refusal.status != 404:
                raise
        self.deleted.append(status)

    def has_followed(self, other: Person) -> None:
        """Store a follow before the scenario begins."""
        follow = StoredFollow(self.server.new_id(), self.id, other.id)
        self.server.database.arrange(follows.insert_follow, follow, self.server.clock.now())

    async def follow(self, other: Person) -> None:
        await self.insist(Follow(other.id))

    async def unfollow(self, other: Person) -> None:
        await self.insist(Unfollow(other.id))

    async def follow_tag(self, name: str) -> None:
        await self.insist(FollowTag(name, name))

    async def unfollow_tag(self, name: str) -> None:
        await self.insist(UnfollowTag(name))

    async def block(self, other: Person) -> None:
        await self.insist(Block(other.id))

    async def unblock(self, other: Person) -> None:
        await self.insist(Unblock(other.id))

    async def mute(self, other: Person, *, seconds: int = 0) -> None:
        """Mute for so many seconds, 0 for good."""
        await self.insist(Mute(other.id, duration=seconds))

    async def unmute(self, other: Person) -> None:
        await self.insist(Unmute(other.id))

    async def home(self) -> list[int]:
        """Return the first page of the home timeline, newest first, as the API would render it."""
        page = HomePage(Page(PAGE))

        async def ask() -> list[int]:
            return await self.server.runtime.ask(home_address(self.id), page, origin=self.origin)

        return await self.server.shown(await insist(self.server, self.name, ask))

    async def sees(self, status: int) -> bool:
        """True if the API would show this status to this person."""
        shown = await insist(self.server, self.name, lambda: self.server.find_shown(status))
        return shown is not None and may_see(shown, await self.insist(PerspectiveOf()))

    async def stream(self) -> Stream:
        """Open the `user` stream."""
        stream = self.server.stream_at(f"{self.name}'s stream", home_address(self.id), self.home)
        return await self.server.open_stream(stream)

    async def relation(self, other: Person) -> Relation:
        """Return how this person stands to the other, as the account's memory has it."""
        return (await self.insist(PerspectiveOf())).relation(other.id)

    def stored_relation(self, other: Person) -> Relation:
        """Return how this person stands to the other, as the rows have it."""
        return relation_of(self.server.database.arrange(relations.find_relation, self.id, other.id))

    def belongs_at_home(self) -> list[int]:
        """Return the statuses that must be on the home timeline, by the rows of this instant, newest first."""
        return [row["id"] for row in self.server.database.rows(BELONGS_AT_HOME, self.id)]

    async def insist(self, message: Message[R], address: Address | None = None) -> R:
        """Ask the own account, or another actor, until there is an answer."""
        return await insist(self.server, self.name, lambda: self.ask(message, address))

    async def attempt(self, message: Message[object], address: Address | None = None) -> None:
        """Ask once and go on after any answer."""
        try:
            await self.ask(message, address)
        except (Refused, NotAnswered, StorageError) as error:
            self.server.run.note(f"gets {type(error).__name__}, leaves it", self.name)

    async def ask(self, message: Message[R], address: Address | None = None) -> R:
        """Ask the own account, or another actor, once."""
        return await self.server.runtime.ask(address or account_address(self.id), message, origin=self.origin)

    @property
    def origin(self) -> Origin:
        return Origin(f"of-{self.name}")


async def sign_in(db: Connection, people: Sequence[Person], new_id: Callable[[], int], now: datetime) -> None:
    """Insert a token for each of these people, named after its owner."""
    id, urls = new_id(), ("urn:ietf:wg:oauth:2.0:oob",)
    application = Application(id, f"client-{id}", hash_of("-"), "Simulation", None, urls, SCOPES, now)
    await oauth.insert_application(db, application)
    for person in people:
        await oauth.insert_token(db, NewToken(new_id(), hash_of(token_of(person)), id, person.id, SCOPES), now)


def token_of(person: Person) -> str:
    """Return the secret with which a person is signed in."""
    return f"token-of-{person.name}"
