"""What a policy does with notifications, and that the order of commits decides."""

import asyncio
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from troupe.storage import notification_policy, notification_requests, notifications
from troupe.storage.accounts import Account
from troupe.storage.engine.connect import run
from troupe.storage.engine.database import Connection
from troupe.storage.notification_policy import FILTERABLE, NotificationPolicy, PolicyChange
from troupe.storage.notifications import NewNotification
from troupe.storage.statuses import Status
from troupe.storage.upkeep.paging import Page

from .conftest import Stage, new_id, session
from .racing import Work, race, waiting, whole

COPY = """
    INSERT INTO notifications (id, account_id, from_account_id, type, status_id, filtered, created_at)
    VALUES ($1, $2, $3, 'mention', $4, true, now())
"""


def tell(stage: Stage, to: Account, by: Account, type: str = "follow", status: Status | None = None) -> str:
    """Return what became of a notification: told, filtered or dropped."""
    new = NewNotification(new_id(), to.id, by.id, type, status.id if status else None)
    told = stage(notifications.insert_many, [new], stage.now) != []
    rows = stage.sql("SELECT filtered FROM notifications WHERE id = $1", new.id)
    assert told == (rows != [] and not rows[0]["filtered"])
    stage.sql("DELETE FROM notifications WHERE id = $1 AND type NOT IN ('mention', 'quote')", new.id)
    return "told" if told else "filtered" if rows else "dropped"


def mention(stage: Stage, author: Account, named: Account, **more: Any) -> Status:
    return stage.status(author, mentioned_ids=(named.id,), **more)


def change(stage: Stage, account: Account, **actions: Any) -> None:
    stage(notification_policy.change, account.id, PolicyChange(**actions))


@pytest.fixture
def ada(stage: Stage) -> Account:
    return stage.account("ada")


@pytest.fixture
def bob(stage: Stage) -> Account:
    """An account that was made long ago."""
    bob = stage.account("bob")
    stage.sql("UPDATE accounts SET created_at = $2 WHERE id = $1", bob.id, stage.now - timedelta(days=31))
    return bob


def test_a_new_account_filters_limited_accounts_alone(stage: Stage, ada: Account) -> None:
    policy = stage(notification_policy.find, ada.id)
    assert policy == NotificationPolicy()
    strict = {one.name for one in fields(policy) if getattr(policy, one.name) != "accept"}
    assert strict == {"limited_accounts"}


def test_a_change_leaves_the_other_causes(stage: Stage, ada: Account) -> None:
    change(stage, ada, bots="drop")
    change(stage, ada, not_following="filter")
    assert stage(notification_policy.find, ada.id) == NotificationPolicy(not_following="filter", bots="drop")


def test_a_policy_is_for_accounts_that_are_not_followed(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, not_following="filter")
    assert tell(stage, ada, bob) == "filtered"
    change(stage, ada, not_following="drop")
    assert tell(stage, ada, bob) == "dropped"
    stage.follow(ada, bob)
    assert tell(stage, ada, bob) == "told"


def test_followers_count_after_three_days(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, not_followers="filter")
    stage.follow(ada, bob)  # which spares nothing here
    assert tell(stage, ada, bob) == "filtered"
    stage.follow(bob, ada)
    assert tell(stage, ada, bob) == "filtered"
    stage.later(3 * 24 * 3600 + 1)
    assert tell(stage, ada, bob) == "told"


def test_accounts_are_new_for_thirty_days(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, new_accounts="filter")
    eve = stage.account("eve")
    assert (tell(stage, ada, eve), tell(stage, ada, bob)) == ("filtered", "told")
    stage.later(30 * 24 * 3600 + 1)
    assert tell(stage, ada, eve) == "told"


def test_a_private_mention_is_filtered_unless_it_answers_one(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, private_mentions="filter")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "told"
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada, visibility="direct")) == "filtered"
    asked = mention(stage, ada, bob, visibility="direct")
    answer = stage.reply(bob, asked, mentioned_ids=(ada.id,), visibility="direct")
    assert tell(stage, ada, bob, "mention", answer) == "told"
    # An answer to something that was not written to the sender.
    eve = stage.account("eve")
    strange = stage.reply(eve, asked, mentioned_ids=(ada.id,), visibility="direct")
    assert tell(stage, ada, eve, "mention", strange) == "filtered"


def test_limited_accounts_may_be_accepted_or_dropped(stage: Stage, ada: Account, bob: Account) -> None:
    stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", bob.id)
    assert tell(stage, ada, bob) == "filtered"
    assert tell(stage, ada, bob, "follow_request") == "told"
    change(stage, ada, limited_accounts="accept")
    assert tell(stage, ada, bob) == "told"
    change(stage, ada, limited_accounts="drop")
    assert tell(stage, ada, bob) == "dropped"


def test_bots(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, bots="filter")
    assert tell(stage, ada, bob) == "told"
    stage.sql("UPDATE accounts SET bot = true WHERE id = $1", bob.id)
    assert tell(stage, ada, bob) == "filtered"


def test_the_strictest_action_wins(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, not_following="filter", not_followers="drop")
    assert tell(stage, ada, bob) == "dropped"
    change(stage, ada, not_following="drop", not_followers="filter")
    assert tell(stage, ada, bob) == "dropped"


def test_only_some_types_are_filtered(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, not_following="filter")
    status = stage.status(ada)
    for type in FILTERABLE:
        about = None if type in ("follow", "follow_request") else status
        assert tell(stage, ada, bob, type, about) == "filtered", type
    for type in ("status", "poll", "update"):
        assert tell(stage, ada, bob, type, status) == "told", type


def test_mentions_by_staff_pass_every_policy(stage: Stage, ada: Account) -> None:
    staff = stage.account("staff", role="moderator")
    change(stage, ada, not_following="drop")
    assert tell(stage, ada, staff, "mention", mention(stage, staff, ada)) == "told"
    assert tell(stage, ada, staff) == "dropped"


def request_of(stage: Stage, account: Account) -> int:
    (request,) = stage(notification_requests.page, account.id, Page(9))
    return request.id


def test_an_accepted_sender_passes_the_policy(stage: Stage, ada: Account, bob: Account) -> None:
    change(stage, ada, not_following="drop")
    change(stage, ada, not_following="filter")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "filtered"
    assert stage(notification_requests.accept, ada.id, [request_of(stage, ada)], new_id())[0]
    change(stage, ada, not_following="drop")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "told"
    assert tell(stage, ada, stage.account("eve")) == "dropped"


def filtered_and_next(stage: Stage, ada: Account, bob: Account) -> tuple[int, NewNotification]:
    """Filter a mention. Return its request, and the notification of another one."""
    change(stage, ada, not_following="filter")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "filtered"
    return request_of(stage, ada), NewNotification(new_id(), ada.id, bob.id, "mention", mention(stage, bob, ada).id)


def inserting(stage: Stage, new: NewNotification) -> Work:
    return lambda db: notifications.insert_many(db, [new], stage.now)


def accepting(ada: Account, request: int) -> Work:
    return lambda db: notification_requests.accept(db, ada.id, [request], new_id())


def dismissing(ada: Account, request: int) -> Work:
    return lambda db: notification_requests.dismiss(db, ada.id, [request])


def test_a_notification_that_waits_for_a_policy_obeys_it(stage: Stage, ada: Account, bob: Account) -> None:
    new = NewNotification(new_id(), ada.id, bob.id, "follow")

    async def close(db: Connection) -> None:
        await notification_policy.change(db, ada.id, PolicyChange(not_following="drop"))

    assert race(stage, close, inserting(stage, new)) == [None, []]
    assert stage.sql("SELECT FROM notifications") == []


def test_a_policy_waits_for_notifications_that_were_decided_before(stage: Stage, ada: Account, bob: Account) -> None:
    new = NewNotification(new_id(), ada.id, bob.id, "follow")
    seen: list[int] = []

    async def close(db: Connection) -> None:
        await notification_policy.change(db, ada.id, PolicyChange(not_following="drop"))
        seen.extend(row["id"] for row in await db.fetch("SELECT id FROM notifications"))

    race(stage, inserting(stage, new), close)
    assert seen == [new.id]


def test_a_notification_that_waits_for_an_acceptance_is_told(stage: Stage, ada: Account, bob: Account) -> None:
    request, new = filtered_and_next(stage, ada, bob)
    _, told = race(stage, accepting(ada, request), inserting(stage, new))
    assert told != []
    assert stage.sql("SELECT FROM notifications WHERE filtered") == []


def test_an_acceptance_waits_for_what_is_just_filtered(stage: Stage, ada: Account, bob: Account) -> None:
    request, new = filtered_and_next(stage, ada, bob)
    told, (found, statuses) = race(stage, inserting(stage, new), accepting(ada, request))
    assert told == []
    assert found
    assert new.status_id in statuses
    assert stage.sql("SELECT FROM notifications WHERE filtered") == []
    assert stage.sql("SELECT FROM notification_requests") == []


def test_a_dismissal_leaves_no_filtered_notification_without_a_request(
    stage: Stage, ada: Account, bob: Account
) -> None:
    request, new = filtered_and_next(stage, ada, bob)
    assert race(stage, inserting(stage, new), dismissing(ada, request)) == [[], True]
    assert stage.sql("SELECT FROM notifications") == []
    assert stage.sql("SELECT FROM notification_requests") == []


def test_a_dismissal_waits_for_what_is_just_filtered(stage: Stage, ada: Account, bob: Account) -> None:
    """A follow makes no request that the dismissal could wait for, so only the lock on the policy guards it."""
    change(stage, ada, not_following="filter")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "filtered"
    request, new = request_of(stage, ada), NewNotification(new_id(), ada.id, bob.id, "follow")

    assert race(stage, inserting(stage, new), dismissing(ada, request)) == [[], True]
    assert stage.sql("SELECT FROM notifications") == []


@pytest.mark.parametrize("accepted", [True, False])
def test_an_answer_to_a_request_and_a_notification_do_not_deadlock(
    stage: Stage, ada: Account, bob: Account, accepted: bool
) -> None:
    """The notification has locked the policy and waits; the answer must not lock the request before the policy."""
    change(stage, ada, not_following="filter")
    assert tell(stage, ada, bob, "mention", mention(stage, bob, ada)) == "filtered"
    request, status = request_of(stage, ada), mention(stage, bob, ada)

    async def main() -> list[Any]:
        async with session(stage.dsn) as blocker, session(stage.dsn) as one, session(stage.dsn) as two:
            # The same notification in a transaction that has not ended: the next one waits for it.
            await blocker.execute("BEGIN")
            await blocker.execute(COPY, new_id(), ada.id, bob.id, status.id)
            new = NewNotification(new_id(), ada.id, bob.id, "mention", status.id)
            told = asyncio.ensure_future(whole(one, lambda db: notifications.insert_many(db, [new], stage.now)))
            await waiting(blocker, 1)
            answered = asyncio.ensure_future(whole(two, answer))
            await waiting(blocker, 2)
            await blocker.execute("ROLLBACK")
            return [await told, await answered]

    async def answer(db: Connection) -> Any:
        if accepted:
            return await notification_requests.accept(db, ada.id, [request], new_id())
        return await notification_requests.dismiss(db, ada.id, [request])

    told, _ = run(main)
    assert told == []
    assert stage.sql("SELECT FROM notifications WHERE filtered") == []
    assert stage.sql("SELECT FROM notification_requests") == []
