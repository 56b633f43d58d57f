"""Follows, blocks and mutes: counted on both sides, and ended together where they must be."""

from troupe.storage import blocks, domain_blocks, filters, follow_requests, follows, mutes, notifications, relations
from troupe.storage.follows import ChangedTerms, FollowTerms
from troupe.storage.notifications import NewNotification
from troupe.storage.upkeep.paging import Page

from .conftest import Stage, counted, new_id


def test_a_follow_counts_once_on_both_sides(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    follow = stage.follow(ada, bob)
    assert not stage(follows.insert_follow, FollowTerms(new_id(), ada.id, bob.id), stage.now)
    assert (stage.counts(ada), stage.counts(bob)) == ((0, 0, 1), (0, 1, 0))
    assert stage(relations.relations, ada.id).following == {bob.id: (follow.id, True, False, None)}
    assert stage(follows.delete_follow, ada.id, bob.id)
    assert not stage(follows.delete_follow, ada.id, bob.id)
    assert counted(stage)


def test_terms_of_a_follow_change_one_by_one(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage.follow(ada, bob)
    assert stage(follows.change_follow, ada.id, bob.id, ChangedTerms(show_reblogs=False))
    assert stage(follows.change_follow, ada.id, bob.id, ChangedTerms(languages=("de",), set_languages=True))
    found = stage(relations.relationships, ada.id, [bob.id], stage.now)[bob.id]
    assert (found.following, found.showing_reblogs, found.notifying, found.languages) == (True, False, False, ("de",))
    assert stage(follows.change_follow, ada.id, bob.id, ChangedTerms(languages=None, set_languages=True))
    assert stage(relations.relationships, ada.id, [bob.id], stage.now)[bob.id].languages is None
    assert not stage(follows.change_follow, bob.id, ada.id, ChangedTerms(notify=True))


def test_a_request_keeps_its_terms_when_accepted(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage(follow_requests.insert, FollowTerms(new_id(), ada.id, bob.id), stage.now)
    assert stage(follows.change_follow, ada.id, bob.id, ChangedTerms(show_reblogs=False, notify=True))
    assert stage(relations.relations, ada.id).requested == {bob.id}
    found = stage(relations.relationships, bob.id, [ada.id], stage.now)[ada.id]
    assert (found.requested_by, found.followed_by) == (True, False)
    assert stage(follow_requests.accept, bob.id, [new_id()], [ada.id], stage.now) == [ada.id]
    assert stage(follow_requests.accept, bob.id, [new_id()], [ada.id], stage.now) == []
    found = stage(relations.relationships, ada.id, [bob.id], stage.now)[bob.id]
    assert (found.following, found.requested, found.showing_reblogs, found.notifying) == (True, False, False, True)
    assert counted(stage)


def test_an_answered_request_takes_its_notification_along(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage(follow_requests.insert, FollowTerms(new_id(), ada.id, bob.id), stage.now)
    assert stage(notifications.insert_many, [NewNotification(new_id(), bob.id, ada.id, "follow_request")], stage.now)
    stage(follow_requests.accept, bob.id, [new_id()], [ada.id], stage.now)
    assert stage(notifications.page, bob.id, Page(10)) == []


def test_a_block_ends_all_that_was_between_two(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage.follow(ada, bob)
    stage.follow(bob, ada)
    stage(follow_requests.insert, FollowTerms(new_id(), bob.id, ada.id), stage.now)
    assert stage(notifications.insert_many, [NewNotification(new_id(), ada.id, bob.id, "follow")], stage.now)
    severed = stage(blocks.insert_block, new_id(), ada.id, bob.id, stage.now)
    assert (severed.new, severed.following, severed.followed_by) == (True, True, True)
    assert not stage(blocks.insert_block, new_id(), ada.id, bob.id, stage.now).new
    assert stage(relations.relations, ada.id).blocking == {bob.id}
    assert stage(relations.relations, bob.id).blocked_by == {ada.id}
    assert stage(relations.relations, bob.id).requested == frozenset()
    assert stage(notifications.page, ada.id, Page(10)) == []
    assert stage(blocks.blocked_either_way, bob.id, ada.id)
    assert counted(stage)
    assert stage(blocks.delete_block, ada.id, bob.id)
    assert not stage(blocks.delete_block, ada.id, bob.id)


def test_a_mute_is_changed_by_a_repeat_and_ends_by_its_time(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage(mutes.insert_mute, new_id(), ada.id, bob.id, stage.now)
    stage(mutes.insert_mute, new_id(), ada.id, bob.id, stage.now, hide_notifications=False, expires_at=stage.later(60))
    found = stage(relations.relationships, ada.id, [bob.id], stage.later(-30))[bob.id]
    assert (found.muting, found.muting_notifications) == (True, False)
    assert not stage(relations.relationships, ada.id, [bob.id], stage.later(60))[bob.id].muting
    assert stage(mutes.end, ada.id, bob.id, stage.now)
    assert not stage(mutes.end, ada.id, bob.id, stage.now)
    assert stage(relations.relations, ada.id).muting == {}


def test_the_terms_of_each_mute_are_its_own(stage: Stage) -> None:
    ada, bob, cyd = stage.account("ada"), stage.account("bob"), stage.account("cyd")
    end = stage.later(60)
    stage(mutes.insert_mute, new_id(), ada.id, bob.id, stage.now, hide_notifications=False, expires_at=end)
    stage(mutes.insert_mute, new_id(), ada.id, cyd.id, stage.now)
    stage(mutes.insert_mute, new_id(), bob.id, ada.id, stage.now)
    assert stage(relations.relations, ada.id).muting == {bob.id: (False, end), cyd.id: (True, None)}
    assert stage(relations.relations, cyd.id).muting == {}


def test_the_relations_of_several_accounts_are_those_of_each(stage: Stage) -> None:
    people = ada, bob, cyd, dan = [stage.account(name) for name in ("ada", "bob", "cyd", "dan")]
    for other in (bob, cyd):
        stage.follow(ada, other)
    stage.follow(bob, ada)
    stage(follow_requests.insert, FollowTerms(new_id(), cyd.id, bob.id), stage.now)
    stage(blocks.insert_block, new_id(), cyd.id, dan.id, stage.now)
    stage(mutes.insert_mute, new_id(), bob.id, cyd.id, stage.now, hide_notifications=False)
    stage(domain_blocks.insert, new_id(), ada.id, "far.test", stage.now)
    ids = [person.id for person in people]
    expected = {id: stage(relations.relations, id) for id in ids}
    assert len({repr(found) for found in expected.values()}) == 4
    assert stage(relations.relations_of_many, ids) == expected
    assert stage(relations.relations_of_many, [dan.id, bob.id]) == {id: expected[id] for id in (dan.id, bob.id)}


def test_the_filters_of_several_accounts_are_those_of_each(stage: Stage) -> None:
    ada, bob, cyd = [stage.account(name) for name in ("ada", "bob", "cyd")]
    for owner, title in ((ada, "tea"), (bob, "rain"), (ada, "fog")):
        words = (filters.FilterKeyword(new_id(), title, True),)
        stage(filters.insert, owner.id, filters.Filter(new_id(), title, ("home",), "hide", None, words), stage.now)
    ids = [ada.id, bob.id, cyd.id]
    found = stage(filters.of_accounts, ids)
    assert found == {id: stage(filters.of_account, id) for id in ids}
    assert [len(found[id]) for id in ids] == [2, 1, 0]


def test_an_ended_follow_leaves_the_lists(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage.follow(ada, bob)
    shelf = new_id()
    stage.sql(
        "INSERT INTO lists (id, account_id, title, created_at) VALUES ($1, $2, 'x', $3)", shelf, ada.id, stage.now
    )
    stage.sql("INSERT INTO list_accounts VALUES ($1, $2, $3, $4)", new_id(), shelf, bob.id, stage.now)
    stage(follows.delete_follow, ada.id, bob.id)
    assert stage.value("SELECT count(*) FROM list_accounts") == 0


def test_pages_are_in_the_order_of_following(stage: Stage) -> None:
    ada = stage.account("ada")
    others = [stage.account(f"u{number}") for number in range(5)]
    made = [stage.follow(other, ada) for other in others]
    everyone = [(follow.id, follow.account_id) for follow in reversed(made)]
    assert stage(follows.followers_page, ada.id, Page(9)) == everyone
    assert stage(follows.followers_page, ada.id, Page(2, max_id=made[3].id)) == everyone[2:4]
    assert stage(follows.followers_page, ada.id, Page(2, min_id=made[0].id)) == everyone[2:4]
    assert stage(follows.followers_page, ada.id, Page(2, since_id=made[0].id)) == everyone[:2]
    assert stage(follows.following_page, others[0].id, Page(9)) == [(made[0].id, ada.id)]


def test_a_domain_block_shows_in_relationships(stage: Stage) -> None:
    ada, far = stage.account("ada"), stage.account("far", domain="far.test")
    assert stage(domain_blocks.insert, new_id(), ada.id, "Far.Test", stage.now)
    assert stage(relations.relationships, ada.id, [far.id], stage.now)[far.id].domain_blocking
    assert stage(relations.relations, ada.id).domain_blocks == {"far.test"}
    assert stage(domain_blocks.delete, ada.id, "far.test")
