"""Notifications: told once, never told against the rules, paged newest first."""

from typing import Any

import pytest

from troupe.storage import (
    blocks,
    conversation_mutes,
    deletions,
    domain_blocks,
    follows,
    mutes,
    notifications,
    oauth,
    push_subscriptions,
)
from troupe.storage.accounts import Account
from troupe.storage.follows import FollowTerms
from troupe.storage.notifications import NewNotification, Notification
from troupe.storage.oauth import Application, NewToken
from troupe.storage.push_subscriptions import MOST_DEVICES, NewPushSubscription, PushAddress
from troupe.storage.secrets import hash_of
from troupe.storage.statuses import Status
from troupe.storage.upkeep.paging import Page

from .conftest import Stage, new_id


def tell(stage: Stage, to: Account, by: Account, type: str, status: Status | None = None) -> Notification | None:
    new = NewNotification(new_id(), to.id, by.id, type, status.id if status else None)
    return next(iter(stage(notifications.insert_many, [new], stage.now)), None)


def mentioning(stage: Stage, author: Account, *named: Account, **more: Any) -> Status:
    return stage.status(author, mentioned_ids=tuple(account.id for account in named), **more)


def test_the_same_is_told_once(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    status = stage.status(ada)
    assert tell(stage, ada, bob, "favourite", status)
    assert tell(stage, ada, bob, "favourite", status) is None
    assert tell(stage, ada, bob, "reblog", status)
    assert tell(stage, ada, bob, "follow")
    assert tell(stage, ada, bob, "follow") is None


def test_own_actions_notify_no_account(stage: Stage) -> None:
    ada = stage.account("ada")
    status = stage.status(ada)
    assert tell(stage, ada, ada, "favourite", status) is None
    assert tell(stage, ada, ada, "poll", status)


def test_remote_accounts_are_not_told_here(stage: Stage) -> None:
    ada, far = stage.account("ada"), stage.account("far", domain="far.test")
    assert tell(stage, far, ada, "follow") is None
    assert tell(stage, ada, far, "follow")


def test_a_blocked_account_tells_nothing_and_a_blocker_may_mention(stage: Stage) -> None:
    ada, eve = stage.account("ada"), stage.account("eve")
    stage(blocks.insert_block, new_id(), ada.id, eve.id, stage.now)
    assert tell(stage, ada, eve, "mention", mentioning(stage, eve, ada)) is None
    assert tell(stage, eve, ada, "mention", mentioning(stage, ada, eve))


def test_a_mute_hides_notifications_only_when_it_says_so_and_while_it_lasts(stage: Stage) -> None:
    ada, eve = stage.account("ada"), stage.account("eve")
    stage(mutes.insert_mute, new_id(), ada.id, eve.id, stage.now, expires_at=stage.later(60))
    stage.later(-30)
    assert tell(stage, ada, eve, "follow") is None
    stage.later(60)
    assert tell(stage, ada, eve, "follow")
    stage(mutes.insert_mute, new_id(), ada.id, eve.id, stage.now, hide_notifications=False)
    assert tell(stage, ada, eve, "mention", mentioning(stage, eve, ada))


def test_a_mention_beside_a_blocked_account_does_not_arrive(stage: Stage) -> None:
    ada, bob, eve = stage.account("ada"), stage.account("bob"), stage.account("eve")
    theirs = stage.status(eve)
    stage(blocks.insert_block, new_id(), ada.id, eve.id, stage.now)
    assert tell(stage, ada, bob, "mention", mentioning(stage, bob, ada, eve)) is None
    answer = stage.reply(bob, theirs, mentioned_ids=(ada.id,))
    assert tell(stage, ada, bob, "mention", answer) is None


def test_staff_may_always_mention(stage: Stage) -> None:
    ada, staff = stage.account("ada"), stage.account("staff", role="moderator")
    stage(blocks.insert_block, new_id(), ada.id, staff.id, stage.now)
    assert tell(stage, ada, staff, "mention", mentioning(stage, staff, ada))
    assert tell(stage, ada, staff, "follow") is None


def test_a_blocked_domain_tells_nothing_unless_followed(stage: Stage) -> None:
    ada, far, near = (
        stage.account("ada"),
        stage.account("far", domain="far.test"),
        stage.account("near", domain="far.test"),
    )
    stage(domain_blocks.insert, new_id(), ada.id, "far.test", stage.now)
    stage.follow(ada, near)
    assert tell(stage, ada, far, "follow") is None
    assert tell(stage, ada, near, "follow")


def test_a_silenced_account_tells_only_those_who_follow_it(stage: Stage) -> None:
    ada, bob, eve = stage.account("ada"), stage.account("bob"), stage.account("eve")
    stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", eve.id)
    stage.follow(ada, eve)
    status = mentioning(stage, eve, ada, bob)
    assert tell(stage, ada, eve, "mention", status)
    assert tell(stage, bob, eve, "mention", status) is None
    assert tell(stage, bob, eve, "follow_request")


def test_a_muted_conversation_tells_nothing_of_any_type(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    root = stage.status(ada)
    answer = stage.reply(bob, root, mentioned_ids=(ada.id,))
    stage(conversation_mutes.insert, ada.id, root.conversation_id, stage.now)
    assert tell(stage, ada, bob, "mention", answer) is None
    assert tell(stage, ada, bob, "favourite", root) is None


def test_suspended_people_and_deleted_statuses_tell_nothing(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    status = mentioning(stage, bob, ada)
    stage(deletions.soft_delete, status.id, bob.id, stage.now, new_id)
    assert tell(stage, ada, bob, "mention", status) is None
    stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.id)
    assert tell(stage, ada, bob, "follow") is None


@pytest.mark.parametrize("state", ["suspended_at", "deleted_at"])
def test_reads_leave_out_senders_that_are_suspended_or_deleted(stage: Stage, state: str) -> None:
    """The rows of a deleted account are erased after the deletion, in batches."""
    ada, bob = stage.account("ada"), stage.account("bob")
    told = tell(stage, ada, bob, "mention", mentioning(stage, bob, ada))
    assert told is not None
    assert stage(notifications.find, ada.id, told.id) is not None
    stage.sql(f"UPDATE accounts SET {state} = now() WHERE id = $1", bob.id)
    assert stage(notifications.find, ada.id, told.id) is None
    assert stage(notifications.page, ada.id, Page(10)) == []
    assert stage(notifications.unread, ada.id, limit=10) == 0


def test_many_are_told_at_once(stage: Stage) -> None:
    ada, bob, eve = stage.account("ada"), stage.account("bob"), stage.account("eve")
    status = mentioning(stage, eve, ada, bob)
    new = [NewNotification(new_id(), account.id, eve.id, "mention", status.id) for account in (ada, bob, eve)]
    assert [told.account_id for told in stage(notifications.insert_many, new, stage.now)] == [ada.id, bob.id]
    assert stage(notifications.insert_many, [], stage.now) == []


def test_pages(stage: Stage) -> None:
    ada = stage.account("ada")
    told = [tell(stage, ada, stage.account(f"u{number}"), "follow") for number in range(5)]
    ids = [one.id for one in told if one is not None]
    newest_first = list(reversed(ids))

    def page(at: Page, **choice: Any) -> list[int]:
        return [one.id for one in stage(notifications.page, ada.id, at, **choice)]

    assert page(Page(9)) == newest_first
    assert page(Page(2, max_id=ids[3])) == newest_first[2:4]
    assert page(Page(2, min_id=ids[0])) == newest_first[2:4]
    assert page(Page(2, since_id=ids[0])) == newest_first[:2]
    assert page(Page(9), types=["mention"]) == []
    assert page(Page(9), exclude_types=["follow"]) == []
    assert page(Page(9), from_account_id=told[1].from_account_id if told[1] else None) == [ids[1]]
    assert stage(notifications.find, ada.id, ids[0]) == told[0]


def test_what_is_taken_back_can_be_told_again(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    status = stage.status(ada)
    first = tell(stage, ada, bob, "favourite", status)
    assert first is not None
    stage(notifications.withdraw_from, bob.id, "favourite", status.id)
    assert stage(notifications.find, ada.id, first.id) is None
    assert tell(stage, ada, bob, "favourite", status)


def device(stage: Stage, owner: Account, *alerts: str, policy: Any = "all") -> PushAddress:
    """A device that wants these types, and where they are sent."""
    id = new_id()
    app = Application(id, f"client-{id}", hash_of("s"), "App", None, ("https://a.test/",), ("push",), stage.now)
    stage(oauth.insert_application, app)
    stage(oauth.insert_token, NewToken(id, hash_of(str(id)), id, owner.id, ("push",)), stage.now)
    new = NewPushSubscription(
        id, account_id=owner.id, access_token=str(id), endpoint=f"https://push.test/{id}", service="push.test",
        p256dh=b"p" * 65, auth=b"a" * 16, standard=True, alerts=alerts, policy=policy,
    )  # fmt: skip
    made = stage(push_subscriptions.replace, new, stage.now)
    assert made is not None
    return PushAddress(made.id, made.service)


def test_a_notification_knows_the_devices_that_want_it(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    wanting, _ = device(stage, ada, "follow", "poll"), device(stage, ada, "mention")
    device(stage, bob, "follow")
    another = device(stage, ada, "follow")
    told = tell(stage, ada, bob, "follow")
    assert told is not None
    assert told.push_to == (wanting, another)
    read = stage(notifications.find, ada.id, told.id)
    assert read is not None
    assert read.push_to == ()


def test_who_may_reach_a_device_is_asked_of_the_rows(stage: Stage) -> None:
    ada, bob, eve = stage.account("ada"), stage.account("bob"), stage.account("eve")
    stage(follows.insert_follow, FollowTerms(new_id(), ada.id, bob.id), stage.now)
    stage(follows.insert_follow, FollowTerms(new_id(), eve.id, ada.id), stage.now)
    devices = {
        policy: device(stage, ada, "favourite", policy=policy) for policy in ("all", "followed", "follower", "none")
    }
    status = stage.status(ada)
    for sender, reaching in ((bob, ["all", "followed"]), (eve, ["all", "follower"]), (stage.account("zoe"), ["all"])):
        told = tell(stage, ada, sender, "favourite", status)
        assert told is not None
        assert list(told.push_to) == [devices[policy] for policy in reaching]


def test_an_account_has_a_limited_number_of_devices_that_are_told(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    devices = [device(stage, ada, "follow") for _ in range(MOST_DEVICES + 2)]
    told = tell(stage, ada, bob, "follow")
    assert told is not None
    assert list(told.push_to) == devices[2:], "those that subscribed last"
