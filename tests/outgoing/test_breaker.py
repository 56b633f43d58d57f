"""The breaker: a server that fails is left alone for a while, and no other one is."""

from datetime import timedelta

from troupe.actors.outgoing.breaker import FAILURES, LONGEST_PAUSE, Breaker

from ..storage.conftest import NOW

SECOND = timedelta(seconds=1)


def test_a_service_that_fails_a_few_times_in_a_row_is_left_alone() -> None:
    breaker = Breaker()
    for _ in range(FAILURES - 1):
        breaker.failed("a", NOW)
    assert breaker.closed_until("a", NOW) is None
    breaker.failed("a", NOW)
    assert breaker.closed_until("a", NOW) == NOW + 30 * SECOND
    assert breaker.closed_until("b", NOW) is None


def test_a_success_in_between_begins_the_count_again() -> None:
    breaker = Breaker()
    for _ in range(FAILURES * 2):
        breaker.failed("a", NOW)
        breaker.succeeded("a")
    assert breaker.closed_until("a", NOW) is None


def test_after_the_pause_one_message_is_let_through_and_decides() -> None:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed("a", NOW)
    later = NOW + 30 * SECOND
    assert breaker.closed_until("a", later) is None
    assert breaker.closed_until("a", later) is not None, "one at a time"
    breaker.failed("a", later)
    assert breaker.closed_until("a", later) == later + 60 * SECOND, "pauses double"
    assert breaker.closed_until("a", later + 60 * SECOND) is None
    breaker.succeeded("a")
    assert breaker.closed_until("a", later + 60 * SECOND) is None


def test_pauses_grow_up_to_a_limit() -> None:
    breaker, now = Breaker(), NOW
    for _ in range(30):
        breaker.failed("a", now)
        now = breaker.closed_until("a", now) or now
    breaker.failed("a", now)
    assert breaker.closed_until("a", now) == now + LONGEST_PAUSE


def test_a_service_may_ask_to_be_left_alone_for_a_time() -> None:
    breaker = Breaker()
    breaker.close("a", NOW + 90 * SECOND)
    assert breaker.closed_until("a", NOW + 89 * SECOND) == NOW + 90 * SECOND
    assert breaker.closed_until("a", NOW + 90 * SECOND) is None
