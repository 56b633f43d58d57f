"""Two sessions at once: what a simulation in lockstep cannot show. Waiting is seen in pg_stat_activity, not guessed."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import combinations
from typing import Any

import asyncpg
import pytest

from troupe.actors.commands.accounts import GiveRole, give_role
from troupe.actors.commands.moderation import ModerateAccount, UndoModeration, moderate, undo
from troupe.actors.commands.quoting import admit_quote
from troupe.actors.commands.report_handling import AssignReport, assign
from troupe.actors.commands.strikes import ModerateStatuses, strike_statuses
from troupe.actors.kernel import Refused
from troupe.actors.refusals import NOT_ALLOWED
from troupe.actors.staff.acts import Staff
from troupe.http.oauth.token import TokenRequest, exchange
from troupe.storage import (
    accounts,
    announcements,
    blocks,
    deletions,
    edits,
    favourites,
    follows,
    idempotency,
    oauth,
    outbox,
    quotes,
    registration,
    relations,
    reports,
    statuses,
)
from troupe.storage.accounts import Account
from troupe.storage.announcements import Announcement
from troupe.storage.engine.connect import run
from troupe.storage.engine.database import Connection
from troupe.storage.federation import activities
from troupe.storage.federation.activities import NewActivity
from troupe.storage.follows import FollowTerms
from troupe.storage.idempotency import KeyedStatus
from troupe.storage.oauth import Application, Grant, NewToken
from troupe.storage.outbox import NewEffect
from troupe.storage.reports import NewReport
from troupe.storage.secrets import access_token, hash_of
from troupe.storage.statuses import NewStatus, Status, StatusTag
from troupe.storage.upkeep import expiry

from .conftest import NOW, Stage, act_of, counted, new_id, session
from .racing import Work, cross, race, whole


def crowd(stage: Stage, works: list[Work]) -> list[Any]:
    """All at once, each on its own connection, in one transaction each."""

    async def alone(work: Work) -> Any:
        async with session(stage.dsn) as db:
            return await whole(db, work)

    async def main() -> list[Any]:
        return await asyncio.gather(*map(alone, works))

    return run(main)


def following(a: int, b: int) -> Work:
    async def work(db: Connection) -> bool:
        await relations.lock_pair(db, a, b)
        if await blocks.blocked_either_way(db, a, b):
            return False
        return await follows.insert_follow(db, FollowTerms(new_id(), a, b), NOW)

    return work


def unfollowing(a: int, b: int) -> Work:
    async def work(db: Connection) -> bool:
        await relations.lock_pair(db, a, b)
        return await follows.delete_follow(db, a, b)

    return work


def blocking(a: int, b: int) -> Work:
    async def work(db: Connection) -> Any:
        await relations.lock_pair(db, a, b)
        return await blocks.insert_block(db, new_id(), a, b, NOW)

    return work


def test_two_accounts_follow_each_other_at_the_same_time(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    assert race(stage, following(ada.id, bob.id), following(bob.id, ada.id)) == [True, True]
    assert (stage.counts(ada), stage.counts(bob)) == ((0, 1, 1), (0, 1, 1))


def test_a_ring_of_follows_does_not_deadlock_and_counts_right(stage: Stage) -> None:
    people = [stage.account(f"u{number}") for number in range(5)]
    pairs = [(one.id, two.id) for one in people for two in people if one is not two]
    assert all(crowd(stage, [following(*pair) for pair in pairs]))
    assert counted(stage)
    assert all(crowd(stage, [unfollowing(*pair) for pair in reversed(pairs)]))
    assert counted(stage)


def test_a_follow_that_races_a_block_does_not_survive_it(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    follow, block = race(stage, following(ada.id, bob.id), blocking(bob.id, ada.id))
    assert follow
    assert block.followed_by
    assert stage.counts(bob) == (0, 0, 0)


def test_a_follow_that_comes_after_a_block_sees_it(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    _, follow = race(stage, blocking(bob.id, ada.id), following(ada.id, bob.id))
    assert follow is False
    assert counted(stage)


def test_two_transactions_with_one_idempotency_key_make_one_status(stage: Stage) -> None:
    ada = stage.account("ada")

    def publishing(id: int) -> Work:
        async def work(db: Connection) -> bool:
            new = NewStatus(id, ada.id, f"{ada.uri}/{id}", None, "public")
            await statuses.insert(db, new, NOW)
            if not await idempotency.insert(db, ada.id, "key", KeyedStatus(id), NOW, NOW - timedelta(hours=1)):
                raise asyncpg.SerializationError
            return True

        return work

    with pytest.raises(asyncpg.SerializationError):
        race(stage, publishing(1), publishing(2))
    assert stage(idempotency.find, ada.id, "key", NOW - timedelta(hours=1)) == KeyedStatus(1)
    assert stage.value("SELECT count(*) FROM statuses") == 1
    assert counted(stage)


def test_two_statuses_bring_one_new_tag(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")

    def tagging(author: int) -> Work:
        async def work(db: Connection) -> list[str]:
            id = new_id()
            tags = (StatusTag(new_id(), "trio", "Trio"),)
            made = await statuses.insert(db, NewStatus(id, author, f"https://t/{id}", None, "public", tags=tags), NOW)
            return [tag.name for tag in made.status.tags]

        return work

    assert race(stage, tagging(ada.id), tagging(bob.id)) == [["trio"], ["trio"]]
    assert stage.value("SELECT count(*) FROM tags") == 1
    assert stage.value("SELECT count(*) FROM status_tags") == 2


def test_favourites_from_many_are_all_counted(stage: Stage) -> None:
    ada = stage.account("ada")
    status = stage.status(ada)
    fans = [stage.account(f"u{number}") for number in range(6)]

    def liking(account: int) -> Work:
        async def work(db: Connection) -> bool:
            return await favourites.insert(db, new_id(), account, status.id, NOW)

        return work

    assert all(crowd(stage, [liking(fan.id) for fan in fans]))
    assert counted(stage)


def test_answers_and_deletions_meet_without_a_wrong_count(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    root = stage.status(ada)
    boost = stage.boost(bob, root)

    async def delete_the_root(db: Connection) -> Any:
        return await deletions.soft_delete(db, root.id, ada.id, NOW, new_id)

    async def take_the_boost_back(db: Connection) -> Any:
        return await deletions.soft_delete(db, boost.id, bob.id, NOW, new_id)

    deleted, taken_back = race(stage, delete_the_root, take_the_boost_back)
    assert deleted is not None
    assert taken_back is None
    assert counted(stage)


def test_a_boost_is_made_once(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    root = stage.status(ada)

    def boosting() -> Work:
        async def work(db: Connection) -> Any:
            id = new_id()
            new = NewStatus(id, bob.id, f"https://t/{id}", None, "public", reblog_of_id=root.id)
            return await statuses.insert(db, new, NOW)

        return work

    with pytest.raises(asyncpg.UniqueViolationError) as refused:
        race(stage, boosting(), boosting())
    assert "statuses_one_reblog" in str(refused.value)
    assert counted(stage)


def test_a_code_is_redeemed_once(stage: Stage) -> None:
    ada, app, code = stage.account("ada"), new_id(), b"c" * 32
    stage(oauth.insert_application, Application(app, "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW))
    grant = Grant(code, app, ada.id, "https://a/", ("read",), None, NOW, NOW + timedelta(minutes=10))
    assert stage(oauth.insert_grant, grant, stage.session(ada))

    async def redeem(db: Connection) -> Grant | None:
        return await oauth.redeem(db, code, app, "https://a/", NOW)

    first, second = race(stage, redeem, redeem)
    assert first is not None
    assert second is None


def test_of_two_requests_with_one_code_the_second_revokes_the_token_of_the_first(stage: Stage) -> None:
    ada, app, code = stage.account("ada"), new_id(), "the code"
    stage(oauth.insert_application, Application(app, "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW))
    grant = Grant(hash_of(code), app, ada.id, "https://a/", ("read",), None, NOW, NOW + timedelta(minutes=10))
    assert stage(oauth.insert_grant, grant, stage.session(ada))
    wanted = TokenRequest(code=code, redirect_uri="https://a/")

    def asking(random: str) -> Work:
        return lambda db: exchange(db, app, wanted, new_id(), random, NOW)

    first, second = race(stage, asking("first"), asking("second"))
    assert second == hash_of(first.secret)
    revoked = stage(oauth.find_token, second)
    assert revoked is not None
    assert revoked.revoked_at == NOW
    assert stage(oauth.find_token, hash_of(access_token("second", ada.id))) is None


def test_two_relays_do_not_claim_one_effect(stage: Stage) -> None:
    ids = [new_id() for _ in range(4)]
    stage(outbox.insert_many, [NewEffect(id, "visits", "fan-out", f"account/{id}", {}) for id in ids], NOW)

    def claiming(relay: int, *wanted: int) -> Work:
        return lambda db: outbox.claim(db, wanted, relay, NOW, NOW + timedelta(seconds=30))

    first, second = race(stage, claiming(1, *ids[:3]), claiming(2, *ids[1:]))
    assert (first, second) == (set(ids[:3]), set(ids[3:]))


def test_two_relays_that_deliver_one_activity_count_all_and_the_last_one_deletes_it(stage: Stage) -> None:
    activity, other = new_id(), new_id()
    ids = [new_id() for _ in range(5)]
    of = [activity, activity, activity, other, other]
    effects = [
        NewEffect(id, "deliveries", "delivery", str(id), {"activity_id": one}) for id, one in zip(ids, of, strict=True)
    ]
    for id, deliveries in ((activity, 3), (other, 2)):
        stage(activities.insert, NewActivity(id, None, "{}", deliveries), NOW)
    stage(outbox.insert_many, effects, NOW)
    for relay, claimed in ((1, [ids[0], ids[3]]), (2, [ids[1], ids[2]])):
        stage(outbox.claim, claimed, relay, NOW, NOW + timedelta(seconds=30))

    def made(relay: int) -> Work:
        return lambda db: activities.delete_deliveries(db, ids[:4], relay)

    race(stage, made(1), made(2))
    left = stage.sql("SELECT id, deliveries FROM activities")
    assert [tuple(row) for row in left] == [(other, 1)]
    assert stage.value("SELECT count(*) FROM outbox") == 1


class TestExpiry:
    """Who comes first, the sweep or those who use what it would delete."""

    LATER = NOW + timedelta(days=3)

    def sign_up(self, stage: Stage) -> Account:
        app = new_id()
        stage(
            oauth.insert_application,
            Application(app, str(app), b"s" * 32, "app", None, ("https://a/",), ("read",), NOW),
        )
        eve = stage.account("eve")
        stage.sql("UPDATE users SET confirmed_at = NULL, approved_at = created_at, created_by_application_id = $1", app)
        return eve

    async def sweep(self, db: Connection) -> list[object]:
        return await expiry.SIGN_UPS.run(db, NOW, NOW, self.LATER, 10)

    def test_an_account_that_is_being_confirmed_is_kept(self, stage: Stage) -> None:
        eve = self.sign_up(stage)
        confirmed, deleted = race(stage, lambda db: registration.confirm(db, eve.id, NOW), self.sweep)
        assert (confirmed, deleted) == (True, [])
        assert stage(accounts.find, eve.id) is not None
        assert stage(self.sweep) == []

    def test_an_account_that_is_being_approved_is_kept(self, stage: Stage) -> None:
        eve = self.sign_up(stage)
        stage.sql("UPDATE users SET approved_at = NULL")
        approved, deleted = race(stage, lambda db: registration.approve(db, eve.id, self.LATER), self.sweep)
        assert (approved, deleted) == (True, [])
        assert stage(self.sweep) == []

    def test_an_account_that_is_being_deleted_is_not_confirmed(self, stage: Stage) -> None:
        eve = self.sign_up(stage)
        deleted, confirmed = race(stage, self.sweep, lambda db: registration.confirm(db, eve.id, NOW))
        assert (deleted, confirmed) == ([eve.id], False)
        assert stage(accounts.find, eve.id) is None

    def test_an_application_that_is_getting_a_token_is_kept_with_it(self, stage: Stage) -> None:
        app = new_id()
        stage(oauth.insert_application, Application(app, "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW))
        new = NewToken(new_id(), b"1" * 32, app, None, ("read",))
        _, deleted = race(
            stage,
            lambda db: oauth.insert_token(db, new, NOW),
            lambda db: expiry.APPLICATIONS.run(db, self.LATER, 10),
        )
        assert deleted == []
        assert stage(oauth.find_token, b"1" * 32) is not None

    def test_a_token_that_came_between_the_two_statements_keeps_its_application(self, stage: Stage) -> None:
        app = new_id()
        stage(oauth.insert_application, Application(app, "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW))

        async def main() -> list[int]:
            async with session(stage.dsn) as db:
                new = NewToken(new_id(), b"1" * 32, app, None, ("read",))
                await oauth.insert_token(db, new, NOW)
                return [row["id"] for row in await db.fetch(expiry.APPLICATIONS.statement, [app])]

        assert run(main) == []


# -- quotes


def quoting(account: Account, quoted: Status) -> Work:
    """Quote a status of another account as a turn does. False if it may not."""

    async def work(db: Connection) -> bool:
        state = await admit_quote(db, account.id, quoted)
        if isinstance(state, Refused):
            return False
        id = new_id()
        new = NewStatus(id, account.id, str(id), None, "public", quote_of_id=quoted.id, quote_state=state)
        await statuses.insert(db, new, NOW)
        return True

    return work


def forbidding(quoted: Status) -> Work:
    return lambda db: edits.set_quote_policy(db, quoted.id, "nobody", new_id())


def deleting(status: Status) -> Work:
    return lambda db: deletions.soft_delete(db, status.id, status.account_id, NOW, new_id)


def revoking(quote: Status, quoted: Status) -> Work:
    return lambda db: quotes.revoke(db, quote.id, quoted.id, quoted.account_id, new_id)


def ending_all(a: Account, b: Account) -> Work:
    async def work(db: Connection) -> int:
        await relations.lock_pair(db, a.id, b.id)
        ended = await quotes.end_between(db, a.id, b.id, new_id)
        await blocks.insert_block(db, new_id(), a.id, b.id, NOW)
        return len(ended)

    return work


@pytest.mark.parametrize("end", [forbidding, deleting, None])
def test_a_quote_that_waits_sees_what_it_waited_for(stage: Stage, end: Callable[[Status], Work] | None) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    quoted = stage.status(ada, quote_policy="public")
    first = ending_all(ada, bob) if end is None else end(quoted)
    assert race(stage, first, quoting(bob, quoted))[1] is False
    assert stage.value("SELECT count(*) FROM statuses WHERE quote_of_id IS NOT NULL") == 0


@pytest.mark.parametrize("end", [deleting, None])
def test_what_ends_quotes_waits_for_a_new_one_and_ends_it(stage: Stage, end: Callable[[Status], Work] | None) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    quoted = stage.status(ada, quote_policy="public")
    second = ending_all(ada, bob) if end is None else end(quoted)
    assert race(stage, quoting(bob, quoted), second)[0] is True
    wanted = "revoked" if end is None else "deleted"
    assert stage.value("SELECT quote_state FROM statuses WHERE quote_of_id IS NOT NULL") == wanted
    assert counted(stage)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("one", "other"), list(combinations(range(4), 2)))
def test_a_quote_ends_once(stage: Stage, one: int, other: int, turned: bool) -> None:
    """Whatever meets: revocation, block, deletion of the quoted or of the quoting status. None waits for ever."""
    ada, bob, cyd = (stage.account(name) for name in ("ada", "bob", "cyd"))
    quoted = stage.status(ada)
    quote = stage.status(bob, quote_of_id=quoted.id, quote_state="accepted")
    stage.status(cyd, quote_of_id=quoted.id, quote_state="accepted")
    stage.boost(bob, quoted)
    stage.boost(ada, quote)
    works = (revoking(quote, quoted), ending_all(bob, ada), deleting(quoted), deleting(quote))
    pair = (works[other], works[one]) if turned else (works[one], works[other])
    race(stage, *pair)
    assert counted(stage)
    assert stage.value("SELECT quote_state FROM statuses WHERE id = $1", quote.id) != "accepted" or 3 in (one, other)


def test_two_accounts_that_react_at_once_do_not_both_get_the_last_place(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    made = Announcement(new_id(), "x", "<p>x</p>", (), (), (), None, None, False, NOW, NOW)
    stage(announcements.insert, made)

    def reacting(account: Account, name: str) -> Work:
        async def work(db: Connection) -> bool:
            assert await announcements.lock(db, made.id, NOW) is not None
            if await announcements.other_kinds(db, made.id, name) >= 1:
                return False
            await announcements.react(db, made.id, account.id, name, NOW)
            return True

        return work

    assert race(stage, reacting(ada, "👍"), reacting(bob, "🎉")) == [True, False]
    assert stage(announcements.count, made.id, "🎉") == 0


def staff_of(account: Account) -> Staff:
    return Staff(account.id, account.username)


def silencing(staff: Account, target: Account) -> Work:
    return lambda db: moderate(act_of(db, staff_of(staff)), target.id, ModerateAccount(staff_of(staff), "silence"))


def undoing(staff: Account, target: Account) -> Work:
    return lambda db: undo(act_of(db, staff_of(staff)), target.id, UndoModeration(staff_of(staff), "suspend"))


def promoting(staff: Account, target: Account) -> Work:
    return lambda db: give_role(act_of(db, staff_of(staff)), target.id, GiveRole(staff_of(staff), "moderator"))


def removing_a_status(staff: Account, target: Account) -> Work:
    message = ModerateStatuses(staff_of(staff), "delete_statuses", (1,))
    return lambda db: strike_statuses(act_of(db, staff_of(staff)), target.id, message)


@pytest.mark.parametrize("act", [silencing, undoing, promoting, removing_a_status])
@pytest.mark.parametrize("turned", [False, True])
def test_two_staff_who_act_on_each_other_do_not_deadlock(
    stage: Stage, act: Callable[[Account, Account], Work], turned: bool
) -> None:
    names = ("own", "mod") if turned else ("mod", "own")
    made = {name: stage.account(name, role={"own": "owner", "mod": "moderator"}[name]) for name in names}
    own, mod = made["own"], made["mod"]
    _, refused = cross(stage, silencing(own, mod), act(mod, own))
    assert refused == NOT_ALLOWED
    assert stage.value("SELECT silenced_at FROM accounts WHERE username = 'mod'") == NOW


def test_a_report_that_is_assigned_to_its_target_who_is_moderated_does_not_deadlock(stage: Stage) -> None:
    own, mod, bob = stage.account("own", role="owner"), stage.account("mod", role="moderator"), stage.account("bob")
    report = stage(reports.insert, NewReport(new_id(), bob.id, mod.id, (), None, "spam", ""), NOW)

    def assigning(staff: Account) -> Work:
        return lambda db: assign(act_of(db, staff_of(staff)), AssignReport(staff_of(staff), report.id, mod.id))

    cross(stage, silencing(own, mod), assigning(own))
    assert stage.value("SELECT action_taken_at FROM reports") == NOW
