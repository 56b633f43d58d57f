"""Statuses: counts stay equal to rows, deletion takes what hangs on it, threads stay in order."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any

from troupe.storage import (
    accounts,
    bookmarks,
    conversation_mutes,
    deletions,
    favourites,
    featured_tags,
    idempotency,
    media,
    notifications,
    polls,
    status_flags,
    statuses,
    tags,
    timeline_entries,
    timelines,
)
from troupe.storage.accounts import Account
from troupe.storage.federation import activities
from troupe.storage.federation.activities import NO_REMOTE_FOLLOWERS, NewActivity, RemoteFollowers
from troupe.storage.idempotency import KeyedStatus
from troupe.storage.notifications import NewNotification
from troupe.storage.outbox import NewEffect
from troupe.storage.polls import NewPoll
from troupe.storage.status_flags import Flags
from troupe.storage.statuses import Mention, NewStatus, Status, StatusTag, plain_status
from troupe.storage.timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, ENTRY_TAGS, TAGS, TimelineEntry
from troupe.storage.upkeep.paging import Page

from .conftest import NOW, Stage, counted, new_id


def test_a_status_is_read_back_with_its_mentions_and_tags(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob", domain="far.test")
    made = stage.status(
        ada, mentioned_ids=(bob.id,), tags=(StatusTag(new_id(), "trio", "Trio"),), language="en", spoiler_text="careful"
    )
    assert made.mentions == (Mention(bob.id, "bob", "far.test", "https://far.test/@bob"),)
    assert made.mentions[0].acct == "bob@far.test"
    assert [tag.display_name for tag in made.tags] == ["Trio"]
    assert (made.language, made.spoiler_text, made.conversation_id) == ("en", "careful", made.id)
    assert stage(statuses.find, made.id) == made


STORED = "SELECT (SELECT count(*) FROM statuses) + (SELECT count(*) FROM outbox) + (SELECT count(*) FROM idempotency)"


def alone(
    stage: Stage, author: Account, key: str | None = None, followers: RemoteFollowers = NO_REMOTE_FOLLOWERS,
    activity: NewActivity | None = None, **more: Any,
) -> tuple[NewStatus, Status | None]:  # fmt: skip
    """Store a status by one statement, with a promise of its own."""
    id, uri = new_id(), f"{author.uri}/statuses/"
    new = NewStatus(id, author.id, f"{uri}{id}", None, "public", text="hello", content="<p>hello</p>", **more)
    effect = NewEffect(new_id(), "announcements", "status", f"account/{author.id}", {"id": id}, causes=("a", "b"))
    made = stage(
        statuses.insert_alone,
        (0, 0),
        new,
        stage.now,
        key,
        stage.now - timedelta(hours=1),
        [effect],
        followers,
        activity,
    )
    return new, None if made is None else made.status


def test_a_status_is_stored_alone_with_its_key_and_its_promise(stage: Stage) -> None:
    ada = stage.account("ada")
    new, made = alone(stage, ada, "key", tags=(StatusTag(new_id(), "tea", "Tea"),))
    assert made is not None
    assert stage(statuses.find, new.id) == made
    assert stage(idempotency.find, ada.id, "key", stage.now - timedelta(hours=1)) == KeyedStatus(new.id)
    assert stage.sql("SELECT payload, causes FROM outbox")[0]["causes"] == ["a", "b"]
    _, made = alone(stage, ada, in_reply_to_id=new.id, in_reply_to_account_id=ada.id)
    assert made is not None
    assert made.conversation_id == new.id
    assert counted(stage)


def test_a_status_for_others_is_not_stored_alone(stage: Stage) -> None:
    ada, bob, far = stage.account("ada"), stage.account("bob"), stage.account("far", domain="far.test")
    before = stage.value(STORED)
    stage.follow(bob, ada, notify=True)
    assert alone(stage, ada, "key")[1] is None
    stage.sql("DELETE FROM follows")
    stage.follow(far, ada)
    assert alone(stage, ada, "key")[1] is None
    assert stage.value(STORED) == before, "not even the key"


def test_the_activity_for_followers_elsewhere_is_stored_with_the_status(stage: Stage) -> None:
    ada = stage.account("ada")
    first, second = stage.account("far", domain="far.test"), stage.account("further", domain="far.test")
    stage.follow(first, ada)
    followers = stage(activities.find_remote_followers, ada.id)
    assert [one.domains for one in followers.inboxes] == [("far.test",)]
    activity = NewActivity(new_id(), ada.id, "{}", 1, "subject")
    new, made = alone(stage, ada, "key", followers, activity)
    assert made is not None
    (stored,) = stage.sql("SELECT id, account_id, body, deliveries, subject FROM activities")
    assert [*stored.values()] == [activity.id, ada.id, "{}", 1, new.uri]
    before = stage.value(STORED)
    for change in (lambda: stage.follow(second, ada), lambda: stage.sql("DELETE FROM follows")):
        change()
        another = NewActivity(new_id(), ada.id, "{}", 1)
        assert alone(stage, ada, "another", followers, another)[1] is None, "other followers than were read"
    assert stage.value(STORED) == before
    assert stage.value("SELECT count(*) FROM activities") == 1
    assert stage(activities.find_remote_followers, ada.id) == NO_REMOTE_FOLLOWERS


def test_a_plain_status_is_known_before_it_is_stored(stage: Stage) -> None:
    ada = stage.account("ada")
    texts: dict[str, Any] = {"spoiler_text": "tea", "language": "de", "sensitive": True, "quote_policy": "followers"}
    for more in (dict[str, Any](), texts):
        root, made = alone(stage, ada, **more)
        assert made == plain_status(root, stage.now, None)
        reply, answer = alone(stage, ada, in_reply_to_id=root.id, in_reply_to_account_id=ada.id, **more)
        assert answer == plain_status(reply, stage.now, made)


def test_a_known_key_stores_nothing_more_until_it_has_expired(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    assert alone(stage, ada, "key")[1] is not None
    before = stage.value(STORED)
    assert alone(stage, ada, "key")[1] is None
    assert stage.value(STORED) == before
    assert alone(stage, bob, "key")[1] is not None, "of another account"
    stage.later(3600)
    new, made = alone(stage, ada, "key")
    assert made is not None
    assert stage(idempotency.find, ada.id, "key", stage.now - timedelta(hours=1)) == KeyedStatus(new.id)


def test_a_tag_that_is_there_is_used_again(stage: Stage) -> None:
    ada = stage.account("ada")
    first = stage.status(ada, tags=(StatusTag(new_id(), "trio", "Trio"),))
    second = stage.status(ada, tags=(StatusTag(new_id(), "trio", "TRIO"), StatusTag(new_id(), "new", "new")))
    assert first.tags[0] in second.tags
    assert [tag.name for tag in second.tags] == ["new", "trio"]


def test_silent_mentions_may_see_and_are_not_named(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    made = stage.status(ada, mentioned_ids=(bob.id,), silent_mention_ids=(bob.id,))
    assert made.mentioned_ids == (bob.id,)
    assert made.mentions == ()


def test_what_storing_answers_is_what_reading_finds(stage: Stage) -> None:
    """The statement that stores a status can't read it back: it answers with its own parts."""
    ada, bob, far = stage.account("ada"), stage.account("bob"), stage.account("far", domain="far.test")
    old, new = StatusTag(new_id(), "tea", "Tea"), StatusTag(new_id(), "trio", "Trio")
    poll = NewPoll(new_id(), ada.id, ("yes", "no"), False, False, stage.now)
    stage(polls.insert, poll, stage.now)
    medium = stage(media.insert_waiting, new_id(), ada.id, "image", "main", None, "a cup", None, stage.now)

    def check(made: Status) -> Status:
        assert stage(statuses.find, made.id) == made
        return made

    root = check(stage.status(ada, tags=(old,)))
    check(stage.status(far, mentioned_ids=(bob.id, ada.id), silent_mention_ids=(ada.id,)))
    check(
        stage.status(
            ada, tags=(StatusTag(new_id(), "tea", "TEA"), new), sensitive=True, spoiler_text="tea", language="de"
        )
    )
    check(stage.status(ada, poll_id=poll.id))
    check(stage.status(ada, media_ids=(medium.id,)))
    check(stage.reply(bob, root))
    check(stage.boost(bob, root))


def test_storing_tells_how_the_author_is_counted_now_and_who_waits(stage: Stage) -> None:
    ada, bob, eve = (stage.account(name) for name in ("ada", "bob", "eve"))
    stage.follow(bob, ada, notify=True)
    stage.follow(eve, ada, notify=True, languages=("de",))
    for language, waiting in (("de", (bob.id, eve.id)), ("en", (bob.id,)), (None, (bob.id, eve.id))):
        id = new_id()
        made = stage(statuses.insert, NewStatus(id, ada.id, f"https://t/{id}", None, "public", language=language), NOW)
        assert made.waiting == waiting
        assert made.author == stage(accounts.find, ada.id)
    assert made.author.statuses_count == 3


def test_every_count_equals_its_rows_after_making_and_deleting(stage: Stage) -> None:
    ada, bob, eve = (stage.account(name) for name in ("ada", "bob", "eve"))
    root = stage.status(ada)
    answer = stage.reply(bob, root)
    stage.reply(eve, root, visibility="private")
    stage.status(eve, visibility="direct")
    stage.boost(bob, root)
    boost = stage.boost(eve, root)
    stage(favourites.insert, new_id(), eve.id, root.id, stage.now)
    assert counted(stage)
    found = stage(statuses.find, root.id)
    assert found is not None
    assert (found.replies_count, found.reblogs_count, found.favourites_count) == (1, 2, 1)

    assert stage(deletions.soft_delete, boost.id, eve.id, stage.now, new_id) is not None
    assert counted(stage)
    assert stage(deletions.soft_delete, answer.id, bob.id, stage.now, new_id) is not None
    assert counted(stage)
    gone = stage(deletions.soft_delete, root.id, ada.id, stage.now, new_id)
    assert gone is not None
    assert counted(stage)
    assert gone.status.text == "hello"
    assert [author for _, author in gone.reblogs] == [bob.id]


def test_only_the_author_deletes_and_only_once(stage: Stage) -> None:
    ada, eve = stage.account("ada"), stage.account("eve")
    made = stage.status(ada)
    assert stage(deletions.soft_delete, made.id, eve.id, stage.now, new_id) is None
    assert stage(deletions.soft_delete, made.id, ada.id, stage.now, new_id) is not None
    assert stage(deletions.soft_delete, made.id, ada.id, stage.now, new_id) is None
    assert stage(statuses.find, made.id) is None
    assert stage.counts(ada) == (0, 0, 0)


def test_deleting_takes_notifications_and_looses_media(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    made = stage.status(ada, mentioned_ids=(bob.id,))
    stage.sql(
        "INSERT INTO media_attachments (id, account_id, status_id, type, created_at, updated_at)"
        " VALUES ($1, $2, $3, 'image', $4, $4)",
        *(new_id(), ada.id, made.id, stage.now),
    )
    assert stage(notifications.insert_many, [NewNotification(new_id(), bob.id, ada.id, "mention", made.id)], stage.now)
    stage(deletions.soft_delete, made.id, ada.id, stage.now, new_id)
    assert stage(notifications.page, bob.id, Page(10)) == []
    assert stage.value("SELECT count(*) FROM media_attachments WHERE status_id IS NULL") == 1


def test_an_old_status_that_arrives_late_does_not_set_the_last_status_back(stage: Stage) -> None:
    far = stage.account("far", domain="far.test")
    stage.status(far)
    stage.status(far, created_at=stage.now - timedelta(days=30))
    found = stage(accounts.find, far.id)
    assert found is not None
    assert found.last_status_at == stage.now


def thread(stage: Stage, author: Account) -> list[int]:
    """root, a below root, b below a, c below root."""
    root = stage.status(author)
    a = stage.reply(author, root)
    b = stage.reply(author, a)
    c = stage.reply(author, root)
    return [root.id, a.id, b.id, c.id]


def test_a_context_is_in_the_order_of_the_thread(stage: Stage) -> None:
    ada = stage.account("ada")
    root, a, b, c = thread(stage, ada)
    assert [entry.id for entry in stage(timeline_entries.ancestors, b, 10)] == [root, a]
    assert [entry.id for entry in stage(timeline_entries.descendants, root, 10, 10)] == [a, b, c]
    assert [entry.id for entry in stage(timeline_entries.ancestors, b, 1)] == [a]
    assert [entry.id for entry in stage(timeline_entries.descendants, root, 10, 1)] == [a, c]
    assert len(stage(timeline_entries.descendants, root, 2, 10)) == 2
    found = stage(statuses.find, b)
    assert found is not None
    assert found.conversation_id == root


def test_a_deleted_status_leaves_a_hole_in_its_thread_and_does_not_cut_it(stage: Stage) -> None:
    ada = stage.account("ada")
    root, a, b, c = thread(stage, ada)
    stage(deletions.soft_delete, a, ada.id, stage.now, new_id)
    assert [entry.id for entry in stage(timeline_entries.ancestors, b, 10)] == [root]
    assert [entry.id for entry in stage(timeline_entries.descendants, root, 10, 10)] == [b, c]


def test_an_entry_of_a_boost_tells_of_the_original(stage: Stage) -> None:
    ada, bob, far = stage.account("ada"), stage.account("bob"), stage.account("far", domain="far.test")
    original = stage.status(far, mentioned_ids=(bob.id,), language="de", media_ids=(new_id(),))
    boost = stage.boost(ada, original)
    (entry,) = stage(timelines.home_entries, ada.id, Page(1))
    assert entry.id == boost.id
    assert (entry.account_id, entry.reblog_account_id, entry.reblog_domain) == (ada.id, far.id, "far.test")
    assert (entry.mentioned_ids, entry.language, entry.has_media) == ((bob.id,), "de", True)


def test_flags_are_the_viewers_own(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    made = stage.status(ada)
    assert stage(status_flags.viewer_flags, bob.id, [made.id])[made.id] == Flags()
    stage(favourites.insert, new_id(), bob.id, made.id, stage.now)
    stage(bookmarks.insert, new_id(), bob.id, made.id, stage.now)
    stage(conversation_mutes.insert, bob.id, made.conversation_id, stage.now)
    stage.boost(bob, made)
    assert stage(status_flags.viewer_flags, bob.id, [made.id])[made.id] == Flags(True, True, True, True, False)
    assert stage(status_flags.viewer_flags, ada.id, [made.id])[made.id] == Flags()


def test_a_favourite_counts_once(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    made = stage.status(ada)
    assert stage(favourites.insert, new_id(), bob.id, made.id, stage.now)
    assert not stage(favourites.insert, new_id(), bob.id, made.id, stage.now)
    assert counted(stage)
    assert stage(favourites.delete, bob.id, made.id)
    assert not stage(favourites.delete, bob.id, made.id)
    assert counted(stage)


def test_columns_stand_in_the_order_of_the_records_fields(stage: Stage) -> None:
    def names(record: type) -> list[str]:
        return [field.name for field in dataclasses.fields(record)]

    ada = stage.account("ada")
    made = stage.status(ada)
    assert list(stage.sql(statuses.FIND_MANY, [made.id])[0].keys()) == names(Status)
    with_tags = f"SELECT {ENTRY_COLUMNS}, {ENTRY_TAGS} FROM statuses s {ENTRY_JOINS} WHERE s.id = $1"
    assert list(stage.sql(with_tags, made.id)[0].keys()) == names(TimelineEntry)
    without_tags = f"SELECT {ENTRY_COLUMNS} FROM statuses s {ENTRY_JOINS} WHERE s.id = $1"
    assert list(stage.sql(without_tags, made.id)[0].keys()) == names(TimelineEntry)[:TAGS]
    assert list(stage.sql(accounts.FIND_MANY, [ada.id])[0].keys()) == names(Account)


def test_what_is_featured_is_counted_as_the_rows_say(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    tea, milk = StatusTag(new_id(), "tea", "tea"), StatusTag(new_id(), "milk", "milk")
    stage.status(ada, tags=(tea, milk))
    for account in (ada, bob):
        for tag in (tea, milk):
            known = stage(tags.ensure, StatusTag(new_id(), tag.name, tag.name), stage.now)
            stage(featured_tags.insert, new_id(), account.id, known.id, tag.name, stage.now)
    stage.later(10)
    late = stage.status(ada, tags=(tea,), visibility="unlisted")
    hidden = stage.status(ada, tags=(tea,), visibility="private")
    stage.status(bob, tags=(milk,))
    stage.boost(bob, late)
    assert featured(stage, ada) == [("tea", 2, stage.now), ("milk", 1, NOW)]
    assert featured(stage, bob) == [("milk", 1, stage.now), ("tea", 0, None)]
    stage(deletions.soft_delete, hidden.id, ada.id, stage.now, new_id)
    stage(deletions.soft_delete, late.id, ada.id, stage.now, new_id)
    assert featured(stage, ada) == [("tea", 1, NOW), ("milk", 1, NOW)]


def featured(stage: Stage, account: Account) -> list[tuple[str, int, datetime | None]]:
    return [(one.name, one.statuses, one.last_status_at) for one in stage(featured_tags.of_account, account.id)]
