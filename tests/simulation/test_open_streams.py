"""Once a change is answered that hides something, no open stream shows it, also if it was on its way already."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
import pytest
import trio

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.blocked_domains import DomainTerms, ImposeDomainBlock, LiftDomainBlock
from troupe.actors.commands.domain_blocks import BlockDomain, UnblockDomain
from troupe.actors.commands.filters import CreateFilter, DeleteFilter, FilterExpiry, KeywordChange
from troupe.actors.commands.moderation import ModerateAccount, UndoModeration
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.commands.strikes import ModerateStatuses
from troupe.actors.facts.access import RevokedToken
from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import Message, NotAnswered, Refused
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.http.answers.errors import HttpError
from troupe.http.intake.request import Request
from troupe.http.streaming.admission import admit, dismiss
from troupe.http.streaming.channels import StreamQuery, by_name
from troupe.http.streaming.frames import WebSocketFrames
from troupe.http.streaming.session import StreamSession
from troupe.storage import lists, sessions
from troupe.storage.engine.database import StorageError
from troupe.storage.lists import List
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, insist, stage, token_of

from .foreign import Foreigner

LONGEST_PAUSE = 40  # steps in which a client takes nothing
LONGEST_WAIT = 60  # steps until the change begins
FILTER = CreateFilter("tea", ("home", "notifications"), "hide", FilterExpiry(None), (KeywordChange(keyword="tea"),))
OWN = frozenset({"user", "list"})
PUBLIC = frozenset({"public", "hashtag"})
PUSHED = frozenset({"user:notification", "direct"})
ALL = OWN | PUBLIC | PUSHED


@dataclass
class Frame:
    """A frame of bob's: on which stream it came, when, and the account and the id of the status or notification."""

    stream: str
    event: str
    by: int
    id: int
    late: bool  # True if the change was answered before


class Scene:
    """Ada and gail, who is on another server, post. Bob follows both and has all streams open."""

    def __init__(self, sim: Simulation, ada: Person, bob: Person) -> None:
        self.sim, self.ada, self.bob = sim, ada, bob
        self.gail = Foreigner(sim, "gail", "far.test")
        self.list = List(sim.new_id(), bob.id, "mine", "list", False, sim.run.clock.now())
        self.answered = False
        self.opened = trio.Event()
        self.frames: list[Frame] = []
        self.session: StreamSession | None = None
        self.observe: Callable[[str, str, dict[str, Any]], None] = lambda stream, event, payload: None
        for person in (ada, self.gail):
            bob.has_followed(person)
        sim.sign_in([bob])
        now = sim.run.clock.now()
        sim.database.arrange(lists.insert, self.list, 1)
        sim.database.arrange(
            lists.add, self.list.id, [ada.id, self.gail.id], [sim.new_id(), sim.new_id()], now
        )  # fmt: skip

    async def pause(self, longest: int) -> None:
        for _ in range(self.sim.run.random.randrange(longest)):
            await trio.lowlevel.checkpoint()

    # Bob's client

    async def open(self, since: str = "") -> StreamSession:
        """Open a connection with all streams, as the server admits it."""
        context = self.sim.api.http_context
        frames = WebSocketFrames(context.rendered, context.settings.base_url)
        head = [(b"authorization", f"Bearer {token_of(self.bob)}".encode())]
        request = Request("GET", "/api/v1/streaming", b"", head, "192.0.2.1", no_body())
        session = await admit(context, request, frames)
        try:
            for stream in sorted(ALL):
                query = StreamQuery(stream=stream, tag="tea", list=str(self.list.id))
                await session.subscribe(by_name(query), since)
        except BaseException:
            dismiss(context, session)
            raise
        return session

    async def listen(self) -> None:
        """Take what there is, now and then. Open the streams again when they are cut."""
        while True:
            try:
                self.session = session = await self.open()
                self.opened.set()
            except (NotAnswered, StorageError):
                await trio.sleep(1)
                continue
            except HttpError:
                return  # the token is valid no more
            while frames := await session.take():
                self.read(frames)
                await self.pause(LONGEST_PAUSE)
            dismiss(self.sim.api.http_context, session)

    def read(self, frames: list[bytes]) -> None:
        for said in map(orjson.loads, frames):
            if "stream" in said and said.get("payload", "").startswith("{"):
                payload: dict[str, Any] = orjson.loads(said["payload"])
                self._note(said["stream"][0], said["event"], payload)
                self.observe(said["stream"][0], said["event"], payload)

    def _note(self, stream: str, event: str, payload: dict[str, Any]) -> None:
        stream = {"notification": "user:notification", "conversation": "direct"}.get(event, stream)
        status = payload.get("last_status") or payload
        if "account" in status:
            by = int(status["account"]["id"])
            self.frames.append(Frame(stream, event, by, int(status["id"]), self.answered))

    def shown(self, streams: frozenset[str], by: Person, *, late: bool = True) -> list[Frame]:
        return [one for one in self.frames if one.by == by.id and one.stream in streams and one.late is late]

    # What the others do

    async def post(self) -> None:
        """Post all the time."""
        for _ in range(3):
            await self.post_once()
            await self.pause(LONGEST_PAUSE)

    async def post_once(self) -> dict[int, int]:
        """Post once each. Return the authors and the ids of what is public."""
        id = 0
        with suppress(Refused):  # once ada is suspended
            id = await self.ada.publish("tea #tea @bob")
            await self.ada.insist(PublishStatus("@bob tea", visibility="direct"))
        return {self.ada.id: id, self.gail.id: await self.gail_posts()}

    async def gail_posts(self) -> int:
        far = self.gail.has_published(self.sim, "tea")
        # As the relay tells of it.
        await insist(self.sim, "a relay", lambda: self.sim.actors.facts.apply([PublishedStatus(far, self.gail.id)]))
        return far

    async def act(self, case: Case) -> None:
        await self.pause(LONGEST_WAIT)
        await case.act(self)
        self.answered = True
        case.check(self)  # nothing more may be taken from now on, and what was taken is right

    async def tell(self, person: Person, message: Message[Any]) -> Any:
        """Ask an account until it answers. A repeat of what was done already may be refused."""
        return await insist(self.sim, "an app", lambda: self.sim.runtime.ask(account_address(person.id), message))


Act = Callable[[Scene], Awaitable[object]]


async def by_bob(scene: Scene, message: Message[Any]) -> None:
    await scene.bob.insist(message)


async def by_staff(scene: Scene, message: Message[Any]) -> None:
    """Do an act of staff. A second try, whose first answer was lost, may be told that there is nothing to undo."""
    with suppress(Refused):
        await scene.tell(scene.ada, message)


@dataclass
class Case:
    """A change, on which streams it hides the posts of an author, and what takes it back."""

    name: str
    act: Act
    hides: frozenset[str]
    by: str = "ada"
    undo: Act | None = None

    def check(self, scene: Scene) -> None:
        author: Person = getattr(scene, self.by)
        assert not scene.shown(self.hides, author), f"{self.name}: shown after the answer"


async def remove_filters(scene: Scene) -> None:
    """Delete the filters by their ids."""
    for row in scene.sim.database.rows("SELECT id FROM filters"):
        await scene.bob.insist(DeleteFilter(row["id"]))


async def limit(scene: Scene, severity: Any) -> None:
    await by_staff(scene, ImposeDomainBlock(COMMAND_LINE, "far.test", DomainTerms(severity)))


async def lift(scene: Scene) -> None:
    for row in scene.sim.database.rows("SELECT id FROM blocked_domains"):
        await by_staff(scene, LiftDomainBlock(COMMAND_LINE, row["id"]))


async def revoke(scene: Scene) -> None:
    """Revoke bob's token in the rows, and tell of it as the endpoint does."""
    database = scene.sim.database
    hashes = database.arrange(sessions.revoke_tokens, scene.bob.id, scene.sim.run.clock.now())
    await scene.sim.actors.facts.apply([RevokedToken(one) for one in hashes])


CASES = (
    Case("block", lambda s: s.bob.block(s.ada), ALL, undo=lambda s: s.bob.unblock(s.ada)),
    Case("blocked by", lambda s: s.ada.block(s.bob), OWN | PUBLIC, undo=lambda s: s.ada.unblock(s.bob)),
    Case("mute", lambda s: s.bob.mute(s.ada), ALL - {"direct"}, undo=lambda s: s.bob.unmute(s.ada)),
    Case("unfollow", lambda s: s.bob.unfollow(s.ada), OWN, undo=lambda s: s.bob.follow(s.ada)),
    Case(
        "domain block", lambda s: by_bob(s, BlockDomain("far.test")), ALL, "gail",
        lambda s: by_bob(s, UnblockDomain("far.test")),
    ),
    Case("filter", lambda s: by_bob(s, FILTER), OWN | {"user:notification"}, undo=remove_filters),
    Case(
        "suspension", lambda s: by_staff(s, ModerateAccount(COMMAND_LINE, "suspend")), ALL,
        undo=lambda s: by_staff(s, UndoModeration(COMMAND_LINE, "suspend")),
    ),
    Case(
        "silence", lambda s: by_staff(s, ModerateAccount(COMMAND_LINE, "silence")), PUBLIC,
        undo=lambda s: by_staff(s, UndoModeration(COMMAND_LINE, "silence")),
    ),
    Case("suspended domain", lambda s: limit(s, "suspend"), ALL, "gail", lift),
    Case("silenced domain", lambda s: limit(s, "silence"), PUBLIC, "gail", lift),
    Case("revoked token", revoke, ALL),
    Case("disabled user", lambda s: s.tell(s.bob, ModerateAccount(COMMAND_LINE, "disable")), ALL),
)  # fmt: skip


@simulation(seeds=10, faults=2, world=stage)
async def test_a_removed_post_is_shown_no_more_once_that_is_answered(sim: Simulation) -> None:
    """Also not inside of a post that quotes it."""
    scene = Scene(sim, *await sim.people("ada", "bob"))
    (cyd,) = await sim.people("cyd")
    scene.bob.has_followed(cyd)
    removed: list[int] = []
    quoting: list[str] = []

    async def post_and_remove() -> None:
        id = await scene.ada.publish("tea #tea @bob")
        await cyd.insist(PublishStatus("look #tea", quoted_status_id=id))
        await by_staff(scene, ModerateStatuses(COMMAND_LINE, "delete_statuses", (id,)))
        scene.answered = True
        removed.append(id)

    def note_quotes(stream: str, event: str, payload: dict[str, Any]) -> None:
        quote = payload.get("quote")
        if scene.answered and quote is not None and quote["quoted_status"] is not None:
            quoting.append(f"{stream} {event}")

    scene.observe = note_quotes
    async with trio.open_nursery() as listening:
        listening.start_soon(scene.listen, name="bob's client")
        await scene.opened.wait()
        async with sim.together() as go:
            go(post_and_remove, name="staff")
        await sim.calm()
        listening.cancel_scope.cancel()
    assert not scene.shown(ALL, scene.ada)
    assert quoting == []
    sim.sometimes(bool(scene.shown(ALL, scene.ada, late=False)), "it was shown before")


@simulation(seeds=8, faults=2, world=stage)
async def test_a_resumed_stream_shows_nothing_that_was_hidden_meanwhile(sim: Simulation) -> None:
    """What was missed was read from the rows when the stream was opened, and the client takes it after the block."""
    scene = Scene(sim, *await sim.people("ada", "bob"))
    (cyd,) = await sim.people("cyd")
    scene.bob.has_followed(cyd)
    first = await insist(sim, "bob's client", scene.open)
    await cyd.publish("before")
    frames = [frame for stream in await read_all(first) for frame in stream]
    since = next(orjson.loads(frame)["id"] for frame in reversed(frames))
    dismiss(sim.api.http_context, first)
    await scene.post_once()
    missed = await cyd.publish("missed")
    resumed = await insist(sim, "bob's client", partial(scene.open, since))
    await scene.bob.block(scene.ada)
    scene.answered = True
    for taken in await read_all(resumed):
        scene.read(taken)
    dismiss(sim.api.http_context, resumed)
    assert not scene.shown(ALL, scene.ada)
    sim.sometimes(any(one.id == missed for one in scene.frames), "the post of another account was missed, and is shown")


async def read_all(session: StreamSession) -> list[list[bytes]]:
    """Take what there is, until nothing comes for a moment."""
    taken: list[list[bytes]] = []
    with trio.move_on_after(5):
        while frames := await session.take():
            taken.append(frames)
    return taken


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
@simulation(seeds=6, faults=2, world=stage)
async def test_what_is_hidden_is_shown_no_more_once_that_is_answered(sim: Simulation, case: Case) -> None:
    scene = Scene(sim, *await sim.people("ada", "bob"))
    async with trio.open_nursery() as listening:
        listening.start_soon(scene.listen, name="bob's client")
        await scene.opened.wait()
        async with sim.together() as go:
            go(scene.post, name="ada")
            go(partial(scene.act, case), name="the change")
        await scene.post_once()
        await sim.calm()
        case.check(scene)
        if case.undo is not None:
            await check_shown_again(scene, case)
        listening.cancel_scope.cancel()
    sim.sometimes(bool(scene.shown(ALL, scene.ada, late=False)), "something was shown before")


async def check_shown_again(scene: Scene, case: Case) -> None:
    """What is published after the change was taken back is on the streams."""
    assert case.undo is not None
    if case.name in ("block", "blocked by"):  # which has ended the follow
        await case.undo(scene)
        await scene.bob.follow(scene.ada)
    else:
        await case.undo(scene)
    session = scene.session
    author: Person = getattr(scene, case.by)
    posted = (await scene.post_once())[author.id]
    await scene.sim.calm()
    if session is not scene.session or session is None or session.ended:
        return  # it was cut meanwhile, and reads pages
    on = {one.stream for one in scene.shown(ALL, author) if one.id == posted}
    # An end of the follow has taken ada off the list. Gail's post has no hashtag.
    wanted = (case.hides & (PUBLIC | OWN)) - {"list"} - ({"hashtag"} if author is scene.gail else set())
    assert on >= wanted, f"{case.name}: not shown again"


async def no_body() -> AsyncIterator[bytes]:
    """The body of a request that has none."""
    yield b""
