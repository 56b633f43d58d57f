"""Feeds: cursors, news told once, deletions told once and never undone, and subscribers that are cut."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio

from troupe.actors.kernel import Event, Feed
from troupe.actors.kernel.feed import CROWDED, HELD, STALLED, Logged
from troupe.actors.kernel.resumption import MEMORY, Publication

from .acting import Listener, Said, words_of


class Idler:
    """A subscriber that could read at any time, and whose turn has not come yet."""

    room = 0
    blocked_since = None

    def wake(self, feed: Feed) -> None:
        pass

    def cut(self) -> None:
        raise AssertionError("was cut")


@contextmanager
def at(seconds: float) -> Generator[None]:
    """The time that feeds go by."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio, "current_time", lambda: seconds)
        yield


def log(feed: Feed, number: int) -> weakref.ref[Event]:
    """Log an event and do not hold on to it."""
    event = Said(f"{number}")
    feed.append(event)
    return weakref.ref(event)


def update(subject: int) -> Event:
    return Said(f"update {subject}")


def test_a_subscriber_is_shown_what_comes_after_it_joined(make_listener: Any) -> None:
    feed, early, late = Feed(), make_listener(), make_listener()
    feed.subscribe(early)
    feed.append(Said("one"))
    feed.catch_up()
    feed.subscribe(late)
    feed.append(Said("two"))
    feed.catch_up()
    assert early.words == ["one", "two"]
    assert late.words == ["two"]


def test_who_joins_before_the_others_are_served_is_not_shown_what_was_logged_before(make_listener: Any) -> None:
    feed, early, late = Feed(), make_listener(), make_listener()
    feed.subscribe(early)
    feed.append(Said("one"))
    feed.subscribe(late)
    feed.append(Said("two"))
    feed.catch_up()
    assert (early.words, late.words) == (["one", "two"], ["two"])


def test_all_subscribers_are_given_the_same_event_object(make_listener: Any) -> None:
    """So that it is rendered and framed once."""
    feed, listeners = Feed(), [make_listener() for _ in range(3)]
    for listener in listeners:
        feed.subscribe(listener)
    feed.append(event := Said("update"))
    feed.catch_up()
    assert all(listener.events[0] is event for listener in listeners)


def test_without_subscribers_nothing_is_kept(make_listener: Any) -> None:
    feed = Feed()
    feed.append_new(1, update(1))
    assert not feed.has_news
    assert not feed.shown
    listener = make_listener()
    feed.subscribe(listener)
    feed.catch_up()
    assert listener.events == []


def test_what_all_have_read_is_not_kept(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    kept = log(feed, 1)
    gc.collect()
    assert kept() is not None
    assert feed.has_news
    feed.catch_up()
    listener.events.clear()
    gc.collect()
    assert (kept(), feed.has_news) == (None, False)


def test_who_leaves_is_shown_nothing_more_and_holds_nothing_back(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.append(Said("one"))
    feed.unsubscribe(listener)
    feed.unsubscribe(listener)
    assert not feed.has_news
    assert feed.catch_up() == []
    assert (listener.events, listener.cuts) == ([], 0)


def test_a_subscriber_reads_on_where_it_stopped(make_listener: Any) -> None:
    feed, slow, well = Feed(), make_listener(blocked_since=0.0), make_listener()
    for listener in (slow, well):
        feed.subscribe(listener)
    for number in range(5):
        feed.append(Said(f"{number}"))
        with at(1.0):
            assert feed.catch_up() == []
    assert words_of(feed.read(slow, 2)) == ["0", "1"]
    assert words_of(feed.read(slow, 9)) == ["2", "3", "4"]
    assert feed.read(slow, 9) == []
    assert well.words == ["0", "1", "2", "3", "4"]


def test_a_subscriber_is_not_shown_what_a_turn_that_still_runs_has_logged(make_listener: Any) -> None:
    feed, slow = Feed(), make_listener(blocked_since=0.0)
    feed.subscribe(slow)
    feed.append(Said("one"))
    with at(1.0):
        feed.catch_up()
    feed.append(Said("two"))
    assert words_of(feed.read(slow, 9)) == ["one"]


def test_a_subscriber_whose_client_reads_is_never_cut(make_listener: Any) -> None:
    """Not even when a burst is longer than anything that may wait."""
    feed, busy = Feed(), Idler()
    feed.subscribe(busy)
    for number in range(2 * HELD):
        feed.append(Said(f"{number}"))
        assert feed.catch_up() == []
    assert feed.is_crowded
    assert words_of(feed.read(busy, 3 * HELD)) == [f"{number}" for number in range(2 * HELD)]
    assert not feed.is_crowded


def test_a_subscriber_whose_client_does_not_read_is_cut_when_it_is_too_far_behind(make_listener: Any) -> None:
    feed, deaf, well = Feed(), make_listener(room=2, blocked_since=0.0), make_listener()
    for listener in (deaf, well):
        feed.subscribe(listener)
    for kind in ("one", "two", "three"):
        feed.append(Said(kind))
    with at(STALLED - 0.1):
        assert feed.catch_up() == []
    feed.append(Said("four"))
    with at(STALLED):
        assert feed.catch_up() == [None]
    assert (deaf.events, deaf.cuts, len(feed)) == ([], 1, 1)
    assert well.words == ["one", "two", "three", "four"]


def test_a_slow_client_is_cut_where_the_feed_cannot_hold_its_place(make_listener: Any) -> None:
    feed, slow = Feed(), make_listener(room=2, blocked_since=0.0)
    feed.subscribe(slow)
    for number in range(HELD):
        feed.append(Said(f"{number}"))
    with at(0.1):
        assert feed.catch_up() == []
        assert not feed.is_crowded  # publishers do not wait for a client
        feed.append(Said("last"))
        assert feed.catch_up() == [None]
    assert (slow.cuts, len(feed)) == (1, 0)


def test_events_are_kept_for_the_slowest_alone(make_listener: Any) -> None:
    feed, slow, well = Feed(), make_listener(blocked_since=0.0), make_listener()
    for listener in (slow, well):
        feed.subscribe(listener)
    events = [log(feed, number) for number in range(HELD)]
    with at(1.0):
        feed.catch_up()
        well.events.clear()
        feed.read(slow, HELD - 10)
        for number in range(CROWDED):
            feed.append(Said(f"{number}"))
        feed.catch_up()
    gc.collect()
    assert sum(event() is not None for event in events) == 10
    feed.unsubscribe(slow)
    gc.collect()
    assert sum(event() is not None for event in events) == 0


def test_a_subscriber_that_raises_is_cut_with_its_error(make_listener: Any) -> None:
    feed, broken = Feed(), make_listener()
    broken.wake_error = OSError("gone")
    feed.subscribe(broken)
    feed.append(Said("one"))
    assert feed.catch_up() == [broken.wake_error]
    assert (broken.cuts, len(feed)) == (1, 0)


def test_a_subscriber_that_cannot_even_be_cut_is_let_go(make_listener: Any) -> None:
    feed, broken, well = Feed(), make_listener(), make_listener()
    broken.wake_error = ValueError("cannot be woken")
    broken.cut_error = OSError("gone")
    for listener in (broken, well):
        feed.subscribe(listener)
    feed.append(Said("one"))
    assert feed.catch_up() == [broken.cut_error]
    feed.subscribe(broken)
    feed.cut_all()
    assert (len(feed), well.cuts) == (0, 1)


def test_a_subscriber_may_leave_while_it_is_being_served(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()

    class Leaver(Listener):
        def wake(self, feed: Feed) -> None:
            self.events += [logged.event for logged in feed.read(self, 1)]
            feed.unsubscribe(self)

    leaver = Leaver()
    feed.subscribe(leaver)
    feed.subscribe(listener)
    for kind in ("one", "two"):
        feed.append(Said(kind))
    assert feed.catch_up() == []
    assert leaver.words == ["one"]
    assert listener.words == ["one", "two"]
    assert leaver.cuts == 0


def test_news_is_announced_once(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.begin([1, 2], 0)
    assert not feed.append_new(1, update(1))
    assert feed.append_new(3, update(3))
    assert not feed.append_new(3, update(3))
    feed.know(4)
    assert not feed.append_new(4, update(4))
    feed.catch_up()
    assert listener.words == ["update 3"]


def test_a_deletion_is_told_once_and_what_is_deleted_is_never_announced(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.append_new(1, update(1))
    for subject in (1, 1, 2):
        feed.retract(subject, Said(f"delete {subject}"))
    assert not feed.append_new(1, update(1))
    assert not feed.append_new(2, update(2))
    feed.catch_up()
    assert listener.words == ["update 1", "delete 1", "delete 2"]


def test_deletions_are_remembered_also_without_subscribers() -> None:
    feed = Feed()
    feed.retract(1, Said("delete"))
    assert 1 in feed.gone


def test_the_first_subscriber_begins_with_what_is_in_rows(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.append(Said("before"))
    feed.subscribe(listener)
    feed.begin([5, 6], 4)
    assert (list(feed.shown), list(feed.gone), feed.floor) == ([5, 6], [], 4)
    feed.catch_up()
    assert listener.words == []


def test_a_subscriber_that_is_back_is_not_shown_the_same_again(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    for _ in range(2):
        feed.subscribe(listener)
        feed.begin([1], 0)
        feed.append_new(2, update(2))
        feed.retract(3, Said("delete 3"))
        feed.catch_up()
        feed.unsubscribe(listener)
    assert listener.words == ["update 2", "delete 3"]


def test_what_is_in_rows_is_forgotten_last(make_listener: Any) -> None:
    feed, listener = Feed(), make_listener()
    feed.subscribe(listener)
    feed.begin([1], 0)
    for subject in range(2, MEMORY + 1):
        feed.append_new(subject, update(subject))
    feed.unsubscribe(listener)
    feed.subscribe(listener)
    feed.begin([1], 0)
    feed.append_new(MEMORY + 1, update(MEMORY + 1))
    assert 1 in feed.shown
    assert 2 not in feed.shown


def test_memory_is_bounded_and_forgets_the_oldest(make_listener: Any) -> None:
    feed = Feed()
    feed.subscribe(make_listener())
    for subject in range(MEMORY + 10):
        feed.append_new(subject, update(subject))
    assert len(feed.shown) == MEMORY
    assert 9 not in feed.shown
    assert 10 in feed.shown


# Events from rows


@dataclass(frozen=True, slots=True)
class Subject(Event):
    """The arrival of a subject, in a publication."""

    id: int


def subject(id: int, position: int = 0, number: int = 0, logged: int = 0) -> Subject:
    return Subject(id, publication=Publication(position, number, logged))


def ids_of(events: list[Logged]) -> list[int]:
    return [logged.event.id for logged in events if isinstance(logged.event, Subject)]


def test_what_is_found_in_rows_is_shown_before_newer_subjects_that_were_not_read(make_listener: Any) -> None:
    feed, slow, well = Feed(), make_listener(blocked_since=0.0), make_listener(blocked_since=0.0)
    for listener in (slow, well):
        feed.subscribe(listener)
    for id in (1, 9):
        feed.append_new(id, subject(id))
    with at(1.0):
        feed.catch_up()
    assert ids_of(feed.read(well, 9)) == [1, 9]
    for id in (7, 4):
        feed.append_new(id, subject(id))
    feed.retract(5, Said("gone"))
    feed.append_new(8, subject(8))
    for id in (6, 2, 10, 7):
        feed.insert_new(id, subject(id))
    with at(1.0):
        feed.catch_up()
    assert ids_of(feed.read(well, 9)) == [2, 6, 7, 4, 8, 10], "in front of what is newer, and shown once"
    assert ids_of(feed.read(slow, 9)) == [1, 9, 2, 6, 7, 4, 8, 10]


def test_nothing_is_put_before_what_a_subscriber_has_joined_after(make_listener: Any) -> None:
    feed, early, late = Feed(), make_listener(blocked_since=0.0), make_listener(blocked_since=0.0)
    feed.subscribe(early)
    feed.append_new(9, subject(9))
    feed.subscribe(late)
    feed.insert_new(4, subject(4))
    with at(1.0):
        feed.catch_up()
    assert (ids_of(feed.read(early, 9)), ids_of(feed.read(late, 9))) == ([9, 4], [4])


def test_ids_name_what_was_shown_before_and_not_what_comes_after(make_listener: Any) -> None:
    """A client that is interrupted between the two would miss the later event."""
    feed, listener = Feed(), make_listener(blocked_since=0.0)
    feed.subscribe(listener)
    feed.append_new(9, subject(9, 100, 5, 3))
    feed.append_new(11, subject(11, 200, 6, 6))  # by now the publication of 9 is in the log
    feed.insert_new(4, subject(4))
    with at(1.0):
        feed.catch_up()
    assert [logged.id for logged in feed.read(listener, 9)] == ["", "100.4.9", "200.4.11"]


def test_events_that_all_subscribers_leave_unread_are_still_in_later_ids(make_listener: Any) -> None:
    """A client may have been shown them by a resumed stream."""
    feed, first, second = Feed(), make_listener(blocked_since=0.0), make_listener(blocked_since=0.0)
    feed.subscribe(first)
    feed.append_new(9, subject(9, 100, 5, 3))
    feed.unsubscribe(first)
    feed.subscribe(second)
    feed.append_new(10, subject(10, 100, 6, 3))
    with at(1.0):
        feed.catch_up()
    assert [logged.id for logged in feed.read(second, 9)] == ["100.9.10"]


def test_a_feed_that_is_held_is_read_when_it_is_released(make_listener: Any) -> None:
    feed, slow, well = Feed(), make_listener(blocked_since=0.0), make_listener()
    for listener in (slow, well):
        feed.subscribe(listener)
    for id in (1, 9):
        feed.append_new(id, subject(id))
        with at(1.0):
            feed.catch_up()
    assert ids_of(feed.read(slow, 1)) == [1]
    feed.hold()
    assert feed.read(slow, 9) == []
    feed.append_new(8, subject(8))
    with at(1.0):
        assert feed.catch_up() == []
    assert (len(well.events), feed.lag(slow), feed.is_crowded) == (2, 2, False)
    feed.insert_new(7, subject(7))
    feed.release()
    with at(1.0):
        feed.catch_up()
    assert ids_of(feed.read(slow, 9)) == [9, 7, 8]
    assert [event.id for event in well.events] == [1, 9, 7, 8]


def test_subscribers_that_leave_a_feed_that_is_held_lose_the_others_nothing(make_listener: Any) -> None:
    feed, listeners = Feed(), [make_listener() for _ in range(3)]
    for listener in listeners:
        feed.subscribe(listener)
    feed.append_new(1, subject(1))
    feed.catch_up()
    feed.hold()
    feed.append_new(2, subject(2))
    feed.unsubscribe(listeners.pop())
    feed.release()
    feed.catch_up()
    assert [[event.id for event in listener.events] for listener in listeners] == [[1, 2], [1, 2]]
    feed.hold()
    feed.append_new(3, subject(3))
    for listener in listeners:
        feed.unsubscribe(listener)
    feed.release()
    assert (feed.has_news, feed.catch_up()) == (False, [])
