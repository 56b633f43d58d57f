"""What a node answers after it has missed facts of another node: what the rows say, as a process that has just started.

The two nodes have one database and no connection, so that the first hears of no change that the second makes. Its relay
finds nothing either, because the second publishes its facts itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from troupe.actors.broadcast.broadcast import Broadcast, account_address, home_address
from troupe.actors.broadcast.events import NotificationShown, StatusAppeared
from troupe.actors.broadcast.viewers import ViewerRules, Viewers
from troupe.actors.commands.blocked_domains import DomainTerms, ImposeDomainBlock
from troupe.actors.commands.changed_settings import ChangeSetting
from troupe.actors.commands.custom_emojis import AddEmoji, EmojiFiles, NewEmoji
from troupe.actors.commands.moderation import ModerateAccount
from troupe.actors.facts.fact import Facts, ReadAgain
from troupe.actors.kept.own_rows import OwnRows
from troupe.actors.kernel import Feed, Message, Origin
from troupe.actors.memory.cache import RowCache
from troupe.actors.memory.computed import Computed
from troupe.actors.rules.visibility import Perspective
from troupe.actors.staff.acts import COMMAND_LINE, Staff
from troupe.http.access.authentication import Tokens
from troupe.storage.engine.database import Connection
from troupe.supervision.testing import Budget, simulation
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage import Person, token_of
from troupe.supervision.testing.stage.server import SimulatedServer

from .two_nodes import TwoNodes, two_nodes

Patch = pytest.MonkeyPatch

OWN = "/api/v1/accounts/verify_credentials"
NEWS = "/api/v1/notifications"
HOME = "/api/v1/timelines/home"
PUBLIC = "/api/v1/timelines/public"
TEA = "/api/v1/timelines/tag/tea"
INSTANCE = "/api/v2/instance"
EMOJIS = "/api/v1/custom_emojis"
APPLICATION = "SELECT client_id FROM applications"


async def promote(db: Connection, account_id: int) -> None:
    await db.execute("UPDATE users SET role = 'admin' WHERE account_id = $1", account_id)


async def send(server: SimulatedServer, who: Person | None, method: str, path: str, **fields: object) -> Any:
    reply = await server.api.send(method, path, None if who is None else token_of(who), fields)
    assert reply.status == 200, (path, reply.status, reply.json)
    return reply.json


async def ask(server: SimulatedServer, who: Person, command: Message[Any]) -> Any:
    return await server.runtime.ask(account_address(who.id), command)


async def miss_everything(nodes: TwoNodes) -> None:
    """Each kind of memory of the first node is filled, becomes outdated, and is right after `Facts.forget`."""
    sim, other = nodes.sim, nodes.other
    ada, bob, cyd, dan = people = await sim.people("ada", "bob", "cyd", "dan")
    sim.sign_in(people)
    sim.database.arrange(promote, ada.id)
    for followed in (ada, cyd):
        bob.has_followed(followed)
    first = await ada.publish("first #tea")
    await cyd.publish("second #tea")
    third = await ada.publish("third")
    listed = (await send(sim, bob, "POST", "/api/v1/lists", title="friends"))["id"]
    await send(sim, bob, "POST", f"/api/v1/lists/{listed}/accounts", account_ids=[str(ada.id)])
    await send(sim, cyd, "POST", f"/api/v1/statuses/{first}/favourite")

    pages = [
        (who, path)
        for who in (ada, bob, cyd)
        for path in (
            OWN, NEWS, HOME, PUBLIC, TEA, INSTANCE, EMOJIS, f"/api/v1/accounts/{ada.id}", f"/api/v1/statuses/{first}",
            f"/api/v1/statuses/{third}/context",
        )
    ]  # fmt: skip
    pages.append((bob, f"/api/v1/timelines/list/{listed}"))

    async def answers() -> Sequence[Any]:
        replies = [await sim.api.send("GET", path, token_of(who)) for who, path in pages]
        return [(reply.status, reply.json) for reply in replies]

    await answers()
    before = await answers()
    await send(sim, dan, "GET", OWN)

    staff = Staff(ada.id, "ada")
    changes = {"display_name": "Countess", "locked": True, "note": "of :cat:"}
    await send(other, ada, "PATCH", "/api/v1/accounts/update_credentials", **changes)
    await send(other, ada, "PUT", f"/api/v1/statuses/{first}", status="edited #tea")
    await send(other, ada, "DELETE", f"/api/v1/statuses/{third}")
    await send(other, bob, "POST", f"/api/v1/statuses/{first}/favourite")
    await send(other, bob, "POST", f"/api/v1/statuses/{first}/bookmark")
    await send(other, bob, "POST", f"/api/v1/accounts/{cyd.id}/mute")
    await send(
        other,
        bob,
        "POST",
        "/api/v2/filters",
        title="tea",
        context=["home"],
        keywords_attributes=[{"keyword": "edited"}],
    )
    await send(other, dan, "POST", f"/api/v1/accounts/{ada.id}/follow")
    await send(other, dan, "POST", "/api/v1/statuses", status="@bob fourth #tea")
    await ask(other, ada, AddEmoji(staff, NewEmoji("cat", EmojiFiles("0" * 32 + ".png", "0" * 32 + ".png"))))
    await ask(other, ada, ChangeSetting(staff, "title", "Tea room", ""))
    await ask(other, ada, ImposeDomainBlock(staff, "bad.example", DomainTerms("suspend")))
    (client,) = (row["client_id"] for row in sim.database.rows(APPLICATION))
    form = {"client_id": client, "client_secret": "-", "token": token_of(dan)}
    await send(other, None, "POST", "/oauth/revoke", **form)

    assert before == await answers(), "the node has heard of a change"
    await sim.actors.facts.forget()
    after = await answers()
    assert (await sim.api.send("GET", OWN, token_of(dan))).status == 401, "a revoked token"
    assert sim.actors.blocks.domains.standing_of("bad.example").suspended
    await sim.stop()
    await sim.start()
    for loader in (sim.api.http_context.live_settings, sim.api.http_context.sign_ups, sim.actors.custom_emojis):
        await loader.reload()  # the tree does so at start
    for (who, path), answer, fresh in zip(pages, after, await answers(), strict=True):
        assert answer == fresh, f"{who.name}: {path}"


class Unread:
    """A subscriber whose client does not read."""

    room = 1_000
    blocked_since = None

    def wake(self, feed: Feed) -> None:
        pass

    def cut(self) -> None:
        pass


class Watching:
    """A connection that counts the changes of its rules."""

    changes = 0

    def use_rules(self, *, filters_changed: bool) -> None:
        self.changes += 1


async def miss_what_streams_hide(nodes: TwoNodes) -> None:
    """Events wait in a feed, and what hides them is missed: a deletion, a suspension, a mute and a filter."""
    sim, other = nodes.sim, nodes.other
    people = ada, bob, cyd, dan, eve = await sim.people("ada", "bob", "cyd", "dan", "eve")
    sim.sign_in(people)
    for author in (ada, cyd):
        bob.has_followed(author)
    await sim.runtime.subscribe(home_address(bob.id), Unread())
    rules = sim.actors.viewers.watch(bob.id, watching := Watching())
    rules_of_a_sleeper = await sim.actors.viewers.read(eve.id)
    rules_of_a_sleeper.start_watching(Watching())
    await bob.home()
    mine = await bob.publish("mine")
    deleted = await ada.publish("to be deleted")
    await cyd.publish("of an account that will be suspended")
    await send(sim, dan, "POST", f"/api/v1/statuses/{mine}/favourite")
    await send(sim, ada, "POST", f"/api/v1/statuses/{mine}/favourite")

    def shown() -> list[int]:
        """The statuses that appear, and the senders of notifications."""
        events = [sim.actors.withdrawals.check(event)[1] for event in sim.runtime.waiting_events()]
        appeared = [event.status.id for event in events if isinstance(event, StatusAppeared)]
        notifications = [event.notification for event in events if isinstance(event, NotificationShown)]
        return appeared + [shown.account.id for shown in notifications if rules.shows_notification(shown)]

    assert len(shown()) == 5
    await send(other, ada, "DELETE", f"/api/v1/statuses/{deleted}")
    await suspend(other, cyd)
    await send(other, bob, "POST", f"/api/v1/accounts/{dan.id}/mute")
    await send(other, eve, "POST", f"/api/v1/accounts/{dan.id}/mute")
    words = [{"keyword": "tea"}]
    await send(other, bob, "POST", "/api/v2/filters", title="tea", context=["home"], keywords_attributes=words)
    assert (len(shown()), watching.changes) == (5, 0), "the node has heard of a change"

    await sim.actors.facts.forget()
    assert shown() == [mine, ada.id]
    assert (len(rules.filters.rows), dan.id in rules.perspective.muting) == (1, True)
    assert watching.changes > 0
    assert dan.id in rules_of_a_sleeper.perspective.muting


async def suspend(server: SimulatedServer, who: Person) -> None:
    await ask(server, who, ModerateAccount(COMMAND_LINE, "suspend"))


@simulation(seeds=2, world=two_nodes)
async def test_a_node_that_has_missed_facts_answers_from_rows(nodes: TwoNodes) -> None:
    await miss_everything(nodes)


@simulation(seeds=2, world=two_nodes)
async def test_streams_that_have_missed_facts_hide_what_the_rows_hide(nodes: TwoNodes) -> None:
    await miss_what_streams_hide(nodes)


@simulation(seeds=2, world=two_nodes)
async def test_trends_are_read_again_after_facts_were_missed(nodes: TwoNodes) -> None:
    sim = nodes.sim
    read: list[str] = []

    async def compute() -> list[int]:
        read.append("trends")
        return []

    trends = sim.api.http_context.trends
    trends.statuses = Computed(compute, sim.run.clock, timedelta(days=1))
    for _ in range(2):
        await trends.statuses.get()
    await sim.actors.facts.forget()
    await trends.statuses.get()
    assert read == ["trends", "trends"]


# Broken on purpose ---------------------------------------------------------------------------------------------------


def without_clearing(of: type) -> Callable[[Patch], None]:
    """Have a cache keep what it holds."""

    def break_it(patch: Patch) -> None:
        clear_by = Facts.clear_by

        def clear_less(self: Facts, clear: Callable[[], None]) -> None:
            if not isinstance(getattr(clear, "__self__", None), of):
                clear_by(self, clear)

        patch.setattr(Facts, "clear_by", clear_less)

    break_it.__name__ = f"{of.__name__}_are_kept"
    return break_it


def rows_are_kept(patch: Patch) -> None:
    def keep(self: RowCache[object]) -> None:
        pass

    patch.setattr(RowCache, "clear", keep)


def accounts_are_not_read_again(patch: Patch) -> None:
    to_all = Broadcast.to_all

    async def to_others(self: Broadcast, kind: str, message: Message[None], origin: Origin) -> None:
        if not isinstance(message, ReadAgain):
            await to_all(self, kind, message, origin)

    patch.setattr(Broadcast, "to_all", to_others)


def timelines_are_not_read_again(patch: Patch) -> None:
    async def keep(self: Broadcast, *, hold: bool = False) -> None:
        pass

    patch.setattr(Broadcast, "reread_timelines", keep)


def small_tables_are_not_loaded_again(patch: Patch) -> None:
    async def keep(self: Facts, rows: str) -> None:
        pass

    patch.setattr(Facts, "load", keep)


def rules_of_streams_are_not_read_again(patch: Patch) -> None:
    async def keep(self: Viewers) -> None:
        pass

    patch.setattr(Viewers, "read_watched_again", keep)


def waiting_events_are_not_compared(patch: Patch) -> None:
    def ignore(self: Facts, reread: Callable[[], Awaitable[None]]) -> None:
        pass

    patch.setattr(Facts, "reread_by", ignore)


def blocks_in_rows_hide_no_older_notification(patch: Patch) -> None:
    def ignore(self: ViewerRules, before: Perspective, new_id: Callable[[], int]) -> None:
        pass

    patch.setattr(ViewerRules, "_shun", ignore)


@pytest.mark.parametrize(
    ("break_rule", "scenario"),
    [
        (without_clearing(OwnRows), miss_everything),
        (without_clearing(Tokens), miss_everything),
        (rows_are_kept, miss_everything),
        (accounts_are_not_read_again, miss_everything),
        (timelines_are_not_read_again, miss_everything),
        (small_tables_are_not_loaded_again, miss_everything),
        (rules_of_streams_are_not_read_again, miss_what_streams_hide),
        (waiting_events_are_not_compared, miss_what_streams_hide),
        (blocks_in_rows_hide_no_older_notification, miss_what_streams_hide),
    ],
    ids=lambda part: part.__name__,
)
def test_what_is_not_forgotten_is_found(break_rule: Callable[[Patch], None], scenario: Callable[..., Any]) -> None:
    series = Series(scenario, two_nodes, Budget(0))
    with Patch.context() as patch:
        break_rule(patch)
        error = series.play_seed(0, "random").error
    assert isinstance(error, AssertionError), "an answer is wrong, not the code"
    assert series.play_seed(0, "random").error is None, "and it is right when nothing is broken"
