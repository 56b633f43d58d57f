"""Timelines: the right rows, in the right order, by every cursor."""

from typing import Any

import pytest

from troupe.storage import deletions, followed_tags, tags, timelines
from troupe.storage.statuses import StatusTag
from troupe.storage.upkeep.paging import Page

from .conftest import Stage, new_id

ALL = Page(20)


def test_home_holds_own_statuses_and_those_of_followed_accounts(stage: Stage) -> None:
    ada, bob, eve = stage.account("ada"), stage.account("bob"), stage.account("eve")
    stage.follow(ada, bob)
    own, theirs = stage.status(ada), stage.status(bob, visibility="private")
    stage.status(eve)
    boost = stage.boost(bob, stage.status(eve))
    gone = stage.status(bob)
    stage(deletions.soft_delete, gone.id, bob.id, stage.now, new_id)
    found = stage(timelines.home_entries, ada.id, Page(10))
    assert [entry.id for entry in found] == [boost.id, theirs.id, own.id]
    assert found[0].reblog_account_id == eve.id


def test_home_pages_by_every_cursor(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    stage.follow(ada, bob)
    ids = [stage.status(author).id for _ in range(4) for author in (ada, bob)]
    newest_first = list(reversed(ids))

    def page(limit: int, **cursors: int) -> list[int]:
        return [entry.id for entry in stage(timelines.home_entries, ada.id, Page(limit, **cursors))]

    assert page(20) == newest_first
    assert page(3) == newest_first[:3]
    assert page(3, max_id=ids[5]) == newest_first[3:6]
    assert page(3, since_id=ids[0]) == newest_first[:3]
    assert page(3, min_id=ids[0]) == newest_first[4:7]
    assert page(9, min_id=ids[0], max_id=ids[3]) == newest_first[5:7]


@pytest.mark.parametrize("authors", [[9], [1, 1, 1, 1, 1, 1], [8, 1, 1, 1], [0, 0, 0, 5], [6, 0, 2]])
def test_home_misses_no_status_however_many_of_each_author_are_on_a_page(stage: Stage, authors: list[int]) -> None:
    """A few of each author are read first. Here one author has more on a page than that, or none."""
    ada = stage.account("ada")
    ids: list[int] = []
    for number, count in enumerate(authors):
        author = stage.account(f"author{number}")
        stage.follow(ada, author)
        ids += [stage.status(author).id for _ in range(count)]

    def page(limit: int, **cursors: int) -> list[int]:
        return [entry.id for entry in stage(timelines.home_entries, ada.id, Page(limit, **cursors))]

    for limit in (1, 2, 4, 20):
        assert page(limit) == ids[::-1][:limit]
        for at, id in enumerate(ids):
            assert page(limit, max_id=id) == ids[:at][::-1][:limit]
            assert page(limit, min_id=id) == ids[at + 1 :][:limit][::-1]
            assert page(limit, since_id=id) == ids[at + 1 :][::-1][:limit]


def test_home_with_hashtags_holds_each_public_status_with_a_followed_one_once(stage: Stage) -> None:
    ada, bob, eve, sam = (stage.account(name) for name in ("ada", "bob", "eve", "sam"))
    stage.follow(ada, bob)
    tea, milk, rum = (stage(tags.ensure, StatusTag(new_id(), name, name), stage.now) for name in ("tea", "milk", "rum"))
    for tag in (tea, milk):
        stage(followed_tags.insert, new_id(), ada.id, tag.id, stage.now)
    by_bob = stage.status(bob, tags=(tea, rum))
    both = stage.status(eve, tags=(tea, milk))
    answer = stage.reply(eve, by_bob, tags=(milk,))
    stage.status(eve, tags=(rum,))
    stage.status(eve, visibility="unlisted", tags=(tea,))
    stage.status(sam, tags=(tea,))
    stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", sam.id)
    own = stage.status(ada)

    def page(at: Page = ALL) -> list[tuple[int, set[str]]]:
        return [(entry.id, set(entry.tags)) for entry in stage(timelines.home_entries_with_tags, ada.id, at)]

    everything = [
        (own.id, set[str]()), (answer.id, {"milk"}), (both.id, {"tea", "milk"}), (by_bob.id, {"tea", "rum"})
    ]  # fmt: skip
    assert page() == everything
    assert page(Page(2)) == everything[:2]
    assert page(Page(2, max_id=answer.id)) == everything[2:]
    assert page(Page(2, min_id=by_bob.id)) == everything[1:3]


def test_public_holds_neither_boosts_nor_replies_to_others_nor_the_silenced(stage: Stage) -> None:
    ada, bob, eve, far = (
        *(stage.account(name) for name in ("ada", "bob", "eve")),
        stage.account("far", domain="far.test"),
    )
    first = stage.status(ada)
    self_reply = stage.reply(ada, first)
    stage.reply(bob, first)
    stage.boost(bob, first)
    for visibility in ("unlisted", "private", "direct"):
        stage.status(ada, visibility=visibility)
    stage.status(eve)
    stage.sql("UPDATE accounts SET silenced_at = now() WHERE id = $1", eve.id)
    remote = stage.status(far)
    picture = stage.status(bob, media_ids=(new_id(),))

    def page(at: Page = ALL, **choice: Any) -> list[int]:
        return [entry.id for entry in stage(timelines.public_entries, at, **choice)]

    assert page() == [picture.id, remote.id, self_reply.id, first.id]
    assert page(local=True) == [picture.id, self_reply.id, first.id]
    assert page(remote=True) == [remote.id]
    assert page(only_media=True) == [picture.id]
    assert page(local=True, only_media=True) == [picture.id]
    assert page(remote=True, only_media=True) == []
    assert page(Page(20, max_id=remote.id, min_id=first.id)) == [self_reply.id]


def test_a_profile_is_narrowed_as_asked(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    first = stage.status(ada)
    private = stage.status(ada, visibility="private")
    own = stage.reply(ada, first)
    theirs = stage.status(bob)
    answer = stage.reply(ada, theirs)
    boost = stage.boost(ada, theirs)
    picture = stage.status(ada, media_ids=(new_id(),), tags=(StatusTag(new_id(), "trio", "Trio"),))

    def page(at: Page = ALL, **choice: Any) -> list[int]:
        return [entry.id for entry in stage(timelines.account_entries, ada.id, at, **choice)]

    assert page() == [picture.id, boost.id, answer.id, own.id, private.id, first.id]
    assert page(visibilities=("public", "unlisted"), exclude_replies=True) == [picture.id, boost.id, own.id, first.id]
    assert page(Page(20, since_id=own.id), exclude_reblogs=True) == [picture.id, answer.id]
    assert page(only_media=True) == [picture.id]
    assert page(tagged="trio") == [picture.id]


def test_pins_come_latest_first(stage: Stage) -> None:
    ada = stage.account("ada")
    pinned = [stage.status(ada) for _ in range(2)]
    for status in reversed(pinned):
        stage.sql("INSERT INTO pins VALUES ($1, $2, $3, $4)", new_id(), ada.id, status.id, stage.now)
    assert [entry.id for entry in stage(timelines.pinned_entries, ada.id)] == [status.id for status in pinned]
