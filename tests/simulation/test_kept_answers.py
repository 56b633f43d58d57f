"""What is kept in memory for the next answer is never older than what its reader, or another client, was told.

People change things while others read them all the time, so that everything is kept at the worst moments. Each change
shows in the answers after its own, and in the end every answer is the one that the rows give.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any

import pytest
import trio

from troupe.actors.account import AccountActor
from troupe.actors.commands.conversations import MarkConversation, RemoveConversation
from troupe.actors.commands.favourites import Favourite, Unfavourite
from troupe.actors.commands.moderation import ModerateAccount, UndoModeration
from troupe.actors.commands.notifications import ClearNotifications, DismissNotification
from troupe.actors.commands.reblogs import Reblog, Unreblog
from troupe.actors.facts.conversations import ChangedConversation
from troupe.actors.facts.fact import Fact, Facts
from troupe.actors.facts.moderation import ModeratedAccount
from troupe.actors.facts.notifications import AddedNotification, ChangedOwnRows
from troupe.actors.facts.relations import ChangedRelation
from troupe.actors.facts.statuses import ChangedStatus, DeletedStatus
from troupe.actors.kept.own_rows import OwnRows
from troupe.actors.kernel import Message, Refused
from troupe.actors.shown.statuses import StatusCache
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.http.access.authentication import Tokens
from troupe.http.entities.rendered import Rendered
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage import Person, Simulation, stage, token_of
from troupe.supervision.testing.stage.api import SimulatedReply

from .breaking import first_failure

KINDS = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.DOUBT_DONE, Fault.LOST})
FAULTS = Budget(2, KINDS)

OWN = "/api/v1/accounts/verify_credentials"
NEWS = "/api/v1/notifications"
LETTERS = "/api/v1/conversations"
HOME = "/api/v1/timelines/home"
TRIES = 100  # of a request, half a second of virtual time apart
LOOKS = 8  # of each reader, at each of its pages

APPLICATION = "SELECT client_id FROM applications"
NEWEST = "SELECT id FROM notifications WHERE account_id = $1 ORDER BY id DESC LIMIT 1"
LATEST = "SELECT id FROM account_conversations WHERE account_id = $1 ORDER BY last_status_id DESC LIMIT 1"

Patch = pytest.MonkeyPatch


async def answer(sim: Simulation, who: Person | None, method: str, path: str, **fields: object) -> SimulatedReply:
    """The answer to a request, which is sent until the database is there."""
    for _ in range(TRIES):
        reply = await sim.api.send(method, path, None if who is None else token_of(who), fields)
        if reply.status != 503:
            return reply
        await trio.sleep(0.5)
    raise AssertionError(f"{path} is not answered")


async def send(sim: Simulation, who: Person, method: str, path: str, **fields: object) -> Any:
    """The JSON of an answer to somebody."""
    reply = await answer(sim, who, method, path, **fields)
    assert reply.status == 200, reply.json
    return reply.json


async def look_on(sim: Simulation, who: Person, paths: Sequence[str]) -> None:
    for _ in range(LOOKS):
        for path in paths:
            await answer(sim, who, "GET", path)
            await trio.lowlevel.checkpoint()


def forget_everything(sim: Simulation) -> None:
    """Leave only the rows."""
    context = sim.api.http_context
    rendered = context.rendered
    for cache in (
        context.statuses, context.accounts, context.tokens, sim.actors.own_rows,
        rendered.statuses, rendered.accounts, rendered.credentials, rendered.notifications,
    ):  # fmt: skip
        cache.clear()
    for kind in ("account", "home"):
        for cell in sim.runtime.awake(kind):
            sim.runtime.resync(cell.address)


async def check_against_rows(sim: Simulation, people: Sequence[Person], paths: Sequence[str]) -> None:
    await sim.calm()
    kept = [await send(sim, who, "GET", path) for who in people for path in paths]
    forget_everything(sim)
    made = [await send(sim, who, "GET", path) for who in people for path in paths]
    for before, after in zip(kept, made, strict=True):
        assert before == after, "an answer is older than the rows"


async def change_a_profile(sim: Simulation) -> None:
    """Ada changes her name and her post. Cyd asks to follow her and takes it back; Dan asks and is suspended."""
    ada = await sim.account("ada", locked=True)
    bob, cyd, dan = await sim.people("bob", "cyd", "dan")
    bob.has_followed(ada)
    sim.sign_in([ada, bob])
    post = f"/api/v1/statuses/{await ada.publish('first')}"

    async def rename() -> None:
        for name in ("Ada L.", "Countess", "Ada"):
            await send(sim, ada, "PATCH", "/api/v1/accounts/update_credentials", display_name=name)
            assert (await send(sim, ada, "GET", OWN))["display_name"] == name
            assert (await send(sim, bob, "GET", post))["account"]["display_name"] == name

    async def edit() -> None:
        for text in ("second", "third"):
            await send(sim, ada, "PUT", post, status=text)
            for who in (ada, bob):
                assert text in (await send(sim, who, "GET", post))["content"]
            assert text in (await send(sim, bob, "GET", HOME))[0]["content"]

    async def hesitate() -> None:
        """Nobody else asks Ada meanwhile."""
        for wanted in (1, 0, 1):
            await (cyd.follow(ada) if wanted else cyd.unfollow(ada))
            assert (await send(sim, ada, "GET", OWN))["follow_requests_count"] == wanted, "of requests"

    async with sim.together() as go:
        go(look_on, sim, ada, [OWN, post], name="ada looks")
        go(look_on, sim, bob, [post, HOME], name="bob looks")
        go(rename, name="ada's phone")
        go(edit, name="ada's laptop")
        go(hesitate, name="cyd")
    await dan.follow(ada)
    assert (await send(sim, ada, "GET", OWN))["follow_requests_count"] == 2
    for done, left in ((ModerateAccount(COMMAND_LINE, "suspend"), 1), (UndoModeration(COMMAND_LINE, "suspend"), 2)):
        await insist_on(dan, done)
        await sim.calm()  # a crash may have left the publication to the relay
        assert (await send(sim, ada, "GET", OWN))["follow_requests_count"] == left, "of suspended accounts"
    await check_against_rows(sim, [ada, bob], [OWN, post, HOME])


async def cause_news(sim: Simulation) -> None:
    """Bob and Cyd do things with Ada's post and take them back, and write to her; she looks at what is new."""
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    sim.sign_in([ada, bob, cyd])
    post = await ada.publish("hello")

    async def news() -> set[tuple[str, str]]:
        return {(one["type"], one["account"]["username"]) for one in await send(sim, ada, "GET", NEWS)}

    async def favour() -> None:
        for there in (True, False, True, False):
            await bob.insist(Favourite(post) if there else Unfavourite(post))
            assert (("favourite", "bob") in await news()) is there
        boost = await bob.insist(Reblog(post))
        assert ("reblog", "bob") in await news()
        await (bob.insist(Unreblog(post)) if sim.run.random.random() < 0.5 else bob.delete(boost))
        assert ("reblog", "bob") not in await news()

    async def write() -> None:
        for text in ("@ada one", "@ada two"):
            letter = await cyd.publish(text, visibility="direct")
            letters = await send(sim, ada, "GET", LETTERS)
            assert [one["last_status"]["id"] for one in letters][:1] == [str(letter)], "a new letter is first"
            assert ("mention", "cyd") in await news()
            await cyd.delete(letter)
            assert ("mention", "cyd") not in await news()
            assert await send(sim, ada, "GET", LETTERS) == [], "a letter that was deleted"
        await cyd.publish("@ada three", visibility="direct")

    async with sim.together() as go:
        go(look_on, sim, ada, [NEWS, LETTERS], name="ada looks")
        go(favour, name="bob")
        go(write, name="cyd")
    await tidy_up(sim, ada)
    await bob.follow(ada)
    assert ("follow", "bob") in await news()
    await ada.block(bob)
    assert ("follow", "bob") not in await news(), "of a blocked account"
    await cyd.follow(ada)
    await cyd.insist(ModerateAccount(COMMAND_LINE, "suspend"))
    assert await news() == set(), "of a suspended account"
    await insist_on(cyd, UndoModeration(COMMAND_LINE, "suspend"))
    await sim.calm()  # a crash may have left the publication to the relay
    assert ("follow", "cyd") in await news()
    await check_against_rows(sim, [ada, cyd], [NEWS, LETTERS])
    await ada.insist(ClearNotifications())
    assert await news() == set()


async def tidy_up(sim: Simulation, ada: Person) -> None:
    """Ada reads and removes her letter, and dismisses what is new."""
    (letter,) = (row["id"] for row in sim.database.rows(LATEST, ada.id))
    await send(sim, ada, "GET", LETTERS)
    await ada.insist(MarkConversation(letter, unread=False))
    assert not (await send(sim, ada, "GET", LETTERS))[0]["unread"]
    await insist_on(ada, RemoveConversation(letter))
    assert await send(sim, ada, "GET", LETTERS) == []
    (newest,) = (row["id"] for row in sim.database.rows(NEWEST, ada.id))
    await send(sim, ada, "GET", NEWS)
    await insist_on(ada, DismissNotification(newest))
    assert str(newest) not in {one["id"] for one in await send(sim, ada, "GET", NEWS)}


async def insist_on(who: Person, command: Message[None]) -> None:
    """Send a command until it is done. One that was done before, and is sent again, may be refused."""
    try:
        await who.insist(command)
    except Refused as refusal:
        if refusal.status not in (403, 404):
            raise


async def lose_access(sim: Simulation) -> None:
    """Bob's token is revoked while he uses it, then Ada is suspended while she does."""
    ada, bob = await sim.people("ada", "bob")
    sim.sign_in([ada, bob])
    (client,) = (row["client_id"] for row in sim.database.rows(APPLICATION))
    form = {"client_id": client, "client_secret": "-", "token": token_of(bob)}

    async def revoke() -> None:
        assert (await answer(sim, None, "POST", "/oauth/revoke", **form)).status == 200
        for _ in range(3):
            assert (await answer(sim, bob, "GET", OWN)).status == 401, "a revoked token"

    async def suspend() -> None:
        await ada.insist(ModerateAccount(COMMAND_LINE, "suspend"))
        for _ in range(3):
            assert (await answer(sim, ada, "GET", OWN)).status == 403, "a suspended user"

    async with sim.together() as go:
        go(look_on, sim, ada, [OWN, NEWS], name="ada looks")
        go(look_on, sim, bob, [OWN, NEWS], name="bob looks")
        go(revoke, name="revocation")
        go(suspend, name="staff")


@simulation(seeds=12, faults=FAULTS, world=stage)
async def test_a_changed_profile_is_seen_at_once(sim: Simulation) -> None:
    await change_a_profile(sim)


# The pinned run finds pages that are kept although rows change, which others may take 29 runs for.
@simulation(seeds=20, faults=FAULTS, pinned=[(3, "random")], world=stage)
async def test_news_are_seen_at_once_and_go_at_once(sim: Simulation) -> None:
    await cause_news(sim)


@simulation(seeds=10, faults=FAULTS, world=stage)
async def test_access_ends_at_once(sim: Simulation) -> None:
    await lose_access(sim)


# Broken on purpose ---------------------------------------------------------------------------------------------------


def headers_outlive_their_tokens(patch: Patch) -> None:
    """A token is found by its header after it was revoked."""
    init = Tokens.__init__

    class Kept(dict[bytes, object]):
        def clear(self) -> None:
            pass

    def keep(self: Tokens) -> None:
        init(self)
        self._by_header = Kept()  # type: ignore[assignment]

    patch.setattr(Tokens, "__init__", keep)


def requests_are_counted_once(patch: Patch) -> None:
    """A changed relation leaves the count of requests as it was."""
    apply = AccountActor.apply

    def forgetful(self: AccountActor, fact: Fact) -> None:
        counted = self.requests
        apply(self, fact)
        if isinstance(fact, ChangedRelation):
            self.requests = counted

    patch.setattr(AccountActor, "apply", forgetful)


def requests_of_suspended_accounts_count(patch: Patch) -> None:
    def forget(self: ModeratedAccount, facts: Facts) -> None:
        pass

    patch.setattr(ModeratedAccount, "cache", forget)


def assembled_records_are_not_compared(patch: Patch) -> None:
    """A status is shown with the records that it was assembled from."""

    def hold_all(self: StatusCache, shown: object, depth: int = 0) -> bool:
        return True

    patch.setattr(StatusCache, "_is_held", hold_all)


def rendered_bytes_are_not_compared(patch: Patch) -> None:
    """A status is shown as it was rendered first."""

    def find(self: Any, id: int, records: object) -> Any:
        kept = self._kept.get(id)
        return None if kept is None else kept[1]

    patch.setattr(Rendered, "find", find)


def pages_are_kept_although_rows_change(patch: Patch) -> None:
    """A page that was read while a fact dropped it is kept."""

    async def load(self: Any, id: int, page: Hashable, read: Callable[[], Awaitable[Any]], of: Any) -> Any:
        rows = await read()
        await trio.lowlevel.checkpoint()
        self._pages.setdefault(id, {})[page] = rows
        for status in filter(None, map(of, rows)):
            self._having.setdefault(status, set()).add(id)
            self._statuses.setdefault(id, set()).add(status)
        return rows

    patch.setattr(OwnRows, "load", load)


def without(kind: type) -> Callable[[Patch], None]:
    """Have the own rows of accounts ignore the facts of a kind."""

    def break_it(patch: Patch) -> None:
        observe = OwnRows.observe

        def observe_less(self: OwnRows, facts: Any) -> None:
            observe(self, facts)
            facts._observers[kind] = []

        patch.setattr(OwnRows, "observe", observe_less)

    break_it.__name__ = f"own_rows_ignore_{kind.__name__}"
    return break_it


def rows_are_not_read_again_after_a_crash(patch: Patch) -> None:
    """Pages outlive the turn that has changed their rows and crashed before it told of that."""

    def keep(self: OwnRows) -> None:
        pass

    patch.setattr(OwnRows, "clear", keep)


MUTANTS = [
    (headers_outlive_their_tokens, lose_access),
    (requests_are_counted_once, change_a_profile),
    (requests_of_suspended_accounts_count, change_a_profile),
    (assembled_records_are_not_compared, change_a_profile),
    (rendered_bytes_are_not_compared, change_a_profile),
    (pages_are_kept_although_rows_change, cause_news),
    (rows_are_not_read_again_after_a_crash, cause_news),
    *(
        (without(kind), cause_news)
        for kind in (
            AddedNotification, ChangedConversation, ChangedOwnRows, ChangedStatus, ChangedRelation, DeletedStatus,
            ModeratedAccount,
        )
    ),
]  # fmt: skip


def leaves(error: BaseException | None) -> list[BaseException | None]:
    """The errors of a scenario, several of whose clients may have noticed something."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())  # of a group
    return [leaf for one in inner for leaf in leaves(one)] if inner else [error]


@pytest.mark.parametrize(("break_rule", "scenario"), MUTANTS, ids=lambda one: one.__name__)
def test_what_is_kept_too_long_is_found(break_rule: Callable[[Patch], None], scenario: Callable[..., Any]) -> None:
    series = Series(scenario, stage, FAULTS)
    with Patch.context() as patch:
        break_rule(patch)
        number, played = first_failure(series)
    assert all(isinstance(error, AssertionError) for error in leaves(played.error)), "an answer is wrong, not the code"
    assert series.play_seed(played.seed, played.strategy).error is None, "and it is right when nothing is broken"
    sys.stdout.write(f"\n{break_rule.__name__}: run {number}, seed {played.seed}, {played.strategy}: {played.error}\n")
