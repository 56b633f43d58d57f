"""Feeds: cursors, news told once, deletions told once and never undone, and subscribers that are cut."""

from __future__ import annotations

from typing import Any

from troupe.actors.kernel import Event, Feed
from troupe.actors.kernel.feed import MEMORY

Listener = Any  # tests/kernel/conftest.py: make_listener


def update(subject: int) -> Event:
    return Event(f"update {subject}", subject)


def test_a_subscriber_is_shown_what_comes_after_it_joined(make_listener: Any) -> None:
    feed, early, late = Feed(), make_listener(), make_listener()
    feed.subscribe(early)
    feed.append(Event("one"))
    feed.catch_up()
    feed.subscribe(late)
    feed.append(Event("two"))
    feed.catch_up()
    assert early.kinds == ["one", "two"]
    assert late.kinds == ["two"]


def test_who_joins_before_the_others_are_served_is_not_shown_what_was_logged_before(make_listener: Any) -> None:
    feed, early, late = Feed(), make_listener(), make_listener()
    feed.subscribe(early)
    feed.append(Event("one"))
    feed.subscribe(late)
    feed.append(Event("two"))
    feed.catch_up()
    assert (early.kinds, late.kinds) == (["one", "two"], ["two"])


def test_all_subscribers_are_given_the_same_event_object(make_listener: Any) -> None:
    """So that it is rendered and framed once."""
    feed, listeners = Feed(), [make_listener() for _ in range(3)]
    for listener in listeners:
        feed.subscribe(listener)
    feed.append(event := Event("update"))
    feed.catch_up()
    assert all(listener.events[0] is event for listener in listeners)


def test_without_subscribers_nothing_is_kept(make_listener: Any) -> None:
    feed = Feed()
    feed.announce(1, update(1))
    assert not feed.behind
    assert not feed.shown
    listener = make_listener()
    feed.subscribe(listener)
    feed.catch_up()
    assert listener.events == []


def test_when_all_are_served_nothing_is_kept(make_listener: Any) -> None:
    feed = Feed()
    feed.subscribe(make_listener())
    feed.append(Event("one"))
    assert feed.behind
    feed.catch_up()
    assert not feed.behind


def test_who_leaves_is_shown_nothing_more_and_holds_nothing_back(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.append(Event("one"))
    feed.unsubscribe(listener)
    feed.unsubscribe(listener)
    assert not feed.behind
    assert feed.catch_up() == []
    assert (listener.events, listener.cuts) == ([], 0)


def test_a_subscriber_without_room_is_cut_and_the_others_go_on(make_listener: Any) -> None:
    feed, slow, well = Feed(), make_listener(room=1), make_listener()
    feed.subscribe(slow)
    feed.subscribe(well)
    for kind in ("one", "two", "three"):
        feed.append(Event(kind))
    assert feed.catch_up() == [None]
    assert (slow.kinds, slow.cuts, len(feed)) == (["one"], 1, 1)
    assert well.kinds == ["one", "two", "three"]


def test_a_subscriber_that_raises_is_cut_with_its_error(make_listener: Any) -> None:
    feed, broken = Feed(), make_listener()
    broken.push_error = OSError("gone")
    feed.subscribe(broken)
    feed.append(Event("one"))
    assert feed.catch_up() == [broken.push_error]
    assert (broken.cuts, len(feed)) == (1, 0)


def test_a_subscriber_that_cannot_even_be_cut_is_let_go(make_listener: Any) -> None:
    feed, broken, well = Feed(), make_listener(room=0), make_listener()
    broken.cut_error = OSError("gone")
    for listener in (broken, well):
        feed.subscribe(listener)
    feed.append(Event("one"))
    assert feed.catch_up() == [broken.cut_error]
    feed.subscribe(broken)
    feed.cut_all()
    assert (len(feed), well.cuts) == (0, 1)


def test_a_subscriber_may_leave_while_it_is_being_served(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()

    class Leaver(type(listener)):
        def push(self, event: Event) -> bool:
            feed.unsubscribe(self)
            return super().push(event)

    leaver = Leaver()
    feed.subscribe(leaver)
    feed.subscribe(listener)
    for kind in ("one", "two"):
        feed.append(Event(kind))
    feed.catch_up()
    assert leaver.kinds == ["one"]
    assert listener.kinds == ["one", "two"]
    assert leaver.cuts == 0


def test_news_is_announced_once(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.begin([1, 2], 0)
    assert not feed.announce(1, update(1))
    assert feed.announce(3, update(3))
    assert not feed.announce(3, update(3))
    feed.know(4)
    assert not feed.announce(4, update(4))
    feed.catch_up()
    assert listener.kinds == ["update 3"]


def test_a_deletion_is_told_once_and_what_is_deleted_is_never_announced(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.announce(1, update(1))
    for subject in (1, 1, 2):
        feed.retract(subject, Event(f"delete {subject}", subject))
    assert not feed.announce(1, update(1))
    assert not feed.announce(2, update(2))
    feed.catch_up()
    assert listener.kinds == ["update 1", "delete 1", "delete 2"]


def test_deletions_are_remembered_also_while_nobody_listens() -> None:
    feed = Feed()
    feed.retract(1, Event("delete", 1))
    assert 1 in feed.gone


def test_when_somebody_begins_to_listen_the_past_is_forgotten(make_listener: Any) -> None:
    feed = Feed()
    feed.retract(1, Event("delete", 1))
    feed.subscribe(make_listener())
    feed.begin([5, 6], 4)
    assert (list(feed.shown), list(feed.gone), feed.floor) == ([5, 6], [], 4)


def test_memory_is_bounded_and_forgets_the_oldest(make_listener: Any) -> None:
    feed = Feed()
    feed.subscribe(make_listener())
    for subject in range(MEMORY + 10):
        feed.announce(subject, update(subject))
    assert len(feed.shown) == MEMORY
    assert 9 not in feed.shown
    assert 10 in feed.shown
