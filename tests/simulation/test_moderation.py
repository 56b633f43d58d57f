"""Acts of staff on an account, amid what its user, other users and other staff do at the same moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest
import trio

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands import scheduled_statuses
from troupe.actors.commands.media import AddMedia
from troupe.actors.commands.moderation import Action, ModerateAccount, UndoModeration, moderate, undo
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.commands.scheduled_statuses import ScheduleStatus
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import Refused
from troupe.actors.staff.acts import COMMAND_LINE, StaffAct, run_act
from troupe.http.answers.errors import Forbidden
from troupe.http.intake.request import Request
from troupe.http.streaming.admission import admit
from troupe.http.streaming.frames import WebSocketFrames
from troupe.http.streaming.session import StreamSession
from troupe.storage import accounts
from troupe.storage.engine.database import Connection
from troupe.storage.media import Media, ProcessedMedia
from troupe.storage.moderation import State
from troupe.supervision.testing import Budget, Fault, simulation, sweep
from troupe.supervision.testing.stage import Person, Simulation, insist, stage, token_of

LONGEST_WAIT = 60  # steps that others may take before a moderator acts
AHEAD = timedelta(seconds=12)  # longer than the faults of a run keep a client waiting
MEETING = (timedelta(seconds=-0.5), timedelta(0), timedelta(seconds=0.5), timedelta(seconds=1.1))
CRASHES = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST, Fault.DOUBT_DONE})

STATUSES = "SELECT id FROM statuses WHERE account_id = $1"
PUBLIC = "SELECT id FROM statuses WHERE account_id = $1 AND visibility = 'public'"
BOOSTS = "SELECT s.id FROM statuses s JOIN statuses o ON o.id = s.reblog_of_id WHERE o.account_id = $1"
MEDIA = "SELECT id FROM media_attachments WHERE account_id = $1"
SCHEDULED = "SELECT id FROM scheduled_statuses WHERE account_id = $1"


class Moderator:
    """A member of staff, at the API or at the command line beside the server, who tries again until it is done."""

    def __init__(self, sim: Simulation, target: Person, *, beside: bool = False) -> None:
        self.sim, self.target, self.beside = sim, target, beside

    async def act(self, action: Action) -> None:
        """Act at some moment of what the others do."""
        await self._wait()
        message = ModerateAccount(COMMAND_LINE, action)
        if self.beside:
            await self._at_command_line(moderate, message)
        else:
            await insist(self.sim, "staff", partial(self._ask, message))

    async def undo(self, state: State) -> None:
        """Undo at some moment. A second try, and a second moderator, are told that there is nothing to undo."""
        await self._wait()
        message = UndoModeration(COMMAND_LINE, state)
        try:
            if self.beside:
                await self._at_command_line(undo, message)
            else:
                await insist(self.sim, "staff", partial(self._ask, message))
        except Refused as refusal:
            if refusal.status != 403:
                raise

    async def _wait(self) -> None:
        for _ in range(self.sim.run.random.randrange(LONGEST_WAIT)):
            await trio.lowlevel.checkpoint()

    async def _ask(self, message: ModerateAccount | UndoModeration) -> None:
        await self.sim.runtime.ask(account_address(self.target.id), message)

    async def _at_command_line(self, do: Callable[..., Awaitable[object]], what: object) -> None:
        """Change the rows in one transaction, and wake the outbox, as the notice does."""
        sim = self.sim

        def begin(db: Connection) -> StaffAct:
            return StaffAct.of(sim.actors.actor_context, db, COMMAND_LINE)

        await insist(sim, "staff", partial(run_act, sim.database, begin, do, self.target.id, what))
        sim.actors.outbox.wake()


class Scene:
    """Ada, who is moderated. Bob follows her and cyd, and reads home and stream; visitors read what is public."""

    def __init__(self, sim: Simulation, ada: Person, bob: Person, cyd: Person) -> None:
        self.sim, self.ada, self.bob, self.cyd = sim, ada, bob, cyd
        self.sessions: list[StreamSession] = []  # ada's own streams
        self.boosts: list[int] = []  # cyd's, that were acknowledged

    async def begin(self) -> None:
        """Fill every cache: timelines, accounts, and ada's token."""
        self.bob.has_followed(self.ada)
        self.bob.has_followed(self.cyd)
        self.sim.sign_in([self.ada])
        self.streams = [await self.bob.stream(), await self.sim.public_stream()]
        self.first = await self.ada.publish("first")
        await self.open_stream()
        assert await self.shown() == {self.first}

    async def open_stream(self) -> None:
        """Open one of ada's own streams as the server admits it."""
        context = self.sim.api.http_context
        frames = WebSocketFrames(context.rendered, context.settings.base_url)
        head = [(b"authorization", f"Bearer {token_of(self.ada)}".encode())]
        request = Request("GET", "/api/v1/streaming", b"", head, "192.0.2.1", no_body())
        self.sessions.append(await insist(self.sim, "ada", partial(admit, context, request, frames)))

    async def go_on(self) -> None:
        """What ada does meanwhile."""
        for do in (partial(self.ada.publish, "second"), self.open_stream, partial(self.ada.publish, "third")):
            await done(do)

    async def boost(self) -> None:
        """What cyd does meanwhile with what ada published."""

        async def do() -> None:
            self.boosts.append(await self.cyd.insist(Reblog(self.first)))

        await done(do)

    def stored(self) -> set[int]:
        """Return ada's statuses, and the boosts of them."""
        return self.published() | self._ids(BOOSTS)

    def published(self) -> set[int]:
        """Return ada's statuses, also those whose answer was lost."""
        return self._ids(STATUSES)

    def public(self) -> set[int]:
        return self._ids(PUBLIC)

    async def shown(self) -> set[int]:
        """Return what anybody else is shown of ada's statuses, on a page or alone."""
        pages = [await self.bob.home(), await self.sim.public_page()]
        assert all(len(page) == len(set(page)) for page in pages), "nothing is twice on a page"
        # As the API's timelines do: a message on its way at the suspension may still add to what a timeline remembers.
        listed = {*pages[0], *pages[1]}
        found = await insist(self.sim, "a page", lambda: self.sim.actors.statuses.show_many(listed))
        alone = [id for id in self.stored() if await self.bob.sees(id)]
        return self.stored() & {*alone, *(id for id, one in found.items() if not one.is_withdrawn)}

    async def check_hidden(self) -> None:
        """Nothing of her is shown, not even later, and she has no access."""
        assert await self.shown() == set()
        pushed = [len(stream.pushed) for stream in self.streams]
        assert not await done(partial(self.ada.publish, "too late"))
        assert not await done(lambda: self.cyd.insist(Reblog(self.first)))
        assert await self.is_refused()
        assert all(session.ended for session in self.sessions), "her streams are closed"
        await self.sim.calm()
        assert pushed == [len(stream.pushed) for stream in self.streams], "streams show nothing more of her"

    async def check_shown(self) -> None:
        """Everything that was acknowledged is shown, and she has access."""
        assert self.stored() >= {*self.ada.published, *self.boosts}
        assert self.published() <= set(await self.bob.home())
        assert await self.shown() == self.stored()
        assert not await self.is_refused()
        back = await self.ada.publish("back")
        await self.sim.calm()
        assert back in self.streams[0].seen

    async def is_refused(self) -> bool:
        """True if the API refuses ada's token."""
        while True:
            reply = await self.sim.api.send("GET", "/api/v1/accounts/verify_credentials", token_of(self.ada))
            if reply.status in (200, 403):
                return reply.status == 403
            assert reply.status == 503, reply.json
            await trio.sleep(1)

    async def account(self) -> accounts.Account:
        """Return ada's account as the cache has it, which is as the row is."""
        cached = await self.sim.actors.accounts.find(self.ada.id)
        stored = self.sim.database.arrange(accounts.find_many, [self.ada.id])
        assert cached is not None
        assert cached == stored[self.ada.id]
        return cached

    def _ids(self, query: str) -> set[int]:
        return {row["id"] for row in self.sim.database.rows(query, self.ada.id)}


async def begun(sim: Simulation) -> Scene:
    scene = Scene(sim, *await sim.people("ada", "bob", "cyd"))
    await scene.begin()
    return scene


async def done(do: Callable[[], Awaitable[object]]) -> bool:
    """Do something that is refused if ada is suspended at this moment. True if it was done."""
    try:
        await do()
    except Forbidden:
        return False
    except Refused as refusal:
        if refusal.status not in (403, 404):
            raise
        return False
    return True


async def no_body() -> AsyncIterator[bytes]:
    """The body of a request that has none."""
    yield b""


@simulation(seeds=15, faults=2, world=stage)
async def test_nothing_of_a_suspended_account_is_shown(sim: Simulation) -> None:
    scene = await begun(sim)
    async with sim.together() as go:
        go(Moderator(sim, scene.ada).act, "suspend", name="staff")
        go(scene.go_on, name="ada")
        go(scene.boost, name="cyd")
        go(scene.bob.home, name="bob")
    await sim.calm()
    await scene.check_hidden()
    sim.sometimes(len(scene.ada.published) > 1, "something was posted before the suspension")
    sim.sometimes(len(scene.ada.published) < 3, "something was refused")


@simulation(seeds=15, faults=2, world=stage)
async def test_an_undone_suspension_loses_nothing(sim: Simulation) -> None:
    scene = await begun(sim)
    ada, cyd, staff = scene.ada, scene.cyd, Moderator(sim, scene.ada)
    followed: list[bool] = []

    async def change_mind() -> None:
        await staff.act("suspend")
        await staff.undo("suspend")

    async def follow() -> None:
        followed.append(await done(partial(cyd.follow, ada)))

    async with sim.together() as go:
        go(change_mind, name="staff")
        go(scene.go_on, name="ada")
        go(scene.boost, name="cyd")
        go(follow, name="cyd's phone")
        go(scene.bob.home, name="bob")
    await sim.calm()
    await scene.check_shown()
    follows = cyd.stored_relation(ada).following is not None
    assert follows or followed == [False], "a follow that was acknowledged stays"
    assert await cyd.relation(ada) == cyd.stored_relation(ada)
    assert scene.published() & set(await cyd.home()) == (scene.published() if follows else set())
    sim.sometimes(len(ada.published) < 4, "a post was refused")
    sim.sometimes(not follows, "a follow was refused")


@simulation(seeds=15, faults=2, world=stage)
async def test_a_disabled_user_publishes_nothing(sim: Simulation) -> None:
    """Not by an upload and a post that were admitted before, and not by a status whose time comes now."""
    scene = await begun(sim)
    ada, staff = scene.ada, Moderator(sim, scene.ada)
    at = sim.run.clock.now() + AHEAD
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduled_statuses, "SOONEST", timedelta(seconds=1))
        await ada.insist(ScheduleStatus(PublishStatus("later", idempotency_key="later"), at))
    stored: list[tuple[int, ...]] = []

    def counts() -> tuple[int, ...]:
        return tuple(len(sim.database.rows(query, ada.id)) for query in (STATUSES, MEDIA, SCHEDULED))

    async def about_its_time() -> None:
        moment = at + sim.run.random.choice(MEETING)
        await trio.sleep(max(0.0, (moment - sim.run.clock.now()).total_seconds()))

    async def disable() -> None:
        await about_its_time()
        await staff.act("disable")
        stored.append(counts())

    async def upload() -> None:
        await about_its_time()
        picture = ProcessedMedia("image", f"{'4f' * 16}.png", "image/png", 1, None, None, {})
        await done(partial(publish_with, picture))

    async def publish_with(picture: ProcessedMedia) -> None:
        medium = await ada.insist(AddMedia(picture))
        assert isinstance(medium, Media)
        await ada.insist(PublishStatus("look", media_ids=(medium.id,), idempotency_key="look"))

    async with sim.together() as go:
        go(disable, name="staff")
        go(upload, name="ada")
    await trio.sleep(max(0.0, (at - sim.run.clock.now()).total_seconds()) + 5)
    await sim.calm()
    assert [counts()] == stored, "nothing comes after the answer to the moderator"
    assert await scene.is_refused()
    assert scene.stored() <= set(await scene.bob.home()), "what was published before stays"
    sim.sometimes(counts()[2] == 1, "a scheduled status waits")
    sim.sometimes(counts()[2] == 0, "a scheduled status was published before")


@simulation(seeds=10, at_most=20, faults=2, world=stage)
async def test_rows_caches_and_timelines_agree_about_two_moderators(sim: Simulation) -> None:
    """One of them is at the command line, and writes to the rows beside the account's actor."""
    scene = await begun(sim)
    one, other = Moderator(sim, scene.ada), Moderator(sim, scene.ada, beside=True)

    async def act() -> None:
        await one.act("silence")
        await one.act("suspend")
        await one.undo("suspend")

    async def act_beside() -> None:
        await other.undo("silence")
        await other.act("suspend")

    async with sim.together() as go:
        go(act, name="staff")
        go(act_beside, name="command line")
        go(scene.bob.home, name="bob")
        go(sim.public_page, name="visitor")
    await sim.calm()
    account = await scene.account()
    suspended, silenced = account.suspended_at is not None, account.silenced_at is not None
    if suspended:
        await scene.check_hidden()
    else:
        assert (set(await sim.public_page()) & scene.stored()) == (set() if silenced else scene.public())
        await scene.check_shown()
    sim.sometimes(suspended, "the account is suspended")
    sim.sometimes(silenced and not suspended, "the account is only silenced")
    sim.sometimes(not silenced and not suspended, "the account is in no state")


@sweep(world=stage, faults=Budget(1, CRASHES))
async def test_a_suspension_is_told_also_after_a_crash(sim: Simulation) -> None:
    """The moderator tries once, so that no second try tells what the first one left."""
    scene = await begun(sim)
    await scene.ada.attempt(ModerateAccount(COMMAND_LINE, "suspend"))
    await sim.calm()
    if (await scene.account()).suspended_at is not None:
        await scene.check_hidden()
    else:
        await scene.check_shown()
