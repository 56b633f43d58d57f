"""The mailbox by itself: two queues, a bound, and what becomes of what there is no room for."""

from __future__ import annotations

from troupe.actors.kernel import NOWHERE, Envelope
from troupe.actors.kernel.mailbox import CAPACITY, KEPT_FOR_HINTS, Mailbox
from troupe.actors.kernel.message import Reply


def hint(number: int = 0) -> Envelope:
    return Envelope(number, "hint", NOWHERE)


def ask(number: int = 0) -> Envelope:
    return Envelope(number, "ask", NOWHERE, reply=Reply())


def numbers(mailbox: Mailbox) -> list[int]:
    """Everything, in the order in which it is taken."""
    return [mailbox.take().id for _ in range(len(mailbox))]


def test_the_control_queue_goes_first_and_each_queue_keeps_its_order() -> None:
    mailbox = Mailbox()
    for number in (1, 2):
        mailbox.append(hint(number))
    for number in (11, 12):
        mailbox.put_control(ask(number))
    mailbox.append(hint(3))
    assert numbers(mailbox) == [11, 12, 1, 2, 3]


def test_what_is_put_back_is_the_next_of_the_user_queue() -> None:
    mailbox = Mailbox()
    mailbox.append(hint(2))
    mailbox.put_control(ask(11))
    mailbox.put_back(hint(1))
    assert numbers(mailbox) == [11, 1, 2]


def test_the_user_queue_is_bounded_and_the_control_queue_is_not() -> None:
    mailbox = Mailbox()
    while mailbox.room(hint()):
        mailbox.append(hint())
    assert len(mailbox) == CAPACITY
    mailbox.put_control(ask())
    assert len(mailbox) == CAPACITY + 1
    mailbox.take()
    mailbox.take()
    assert mailbox.room(hint())


def test_asks_leave_room_for_hints() -> None:
    mailbox = Mailbox()
    while mailbox.room(ask()):
        mailbox.append(ask())
    assert len(mailbox) == CAPACITY - KEPT_FOR_HINTS
    assert mailbox.room(hint())


def test_collapsing_keeps_asks_and_the_control_queue() -> None:
    mailbox = Mailbox()
    mailbox.append(hint(1))
    mailbox.append(ask(2))
    mailbox.append(hint(3))
    mailbox.put_control(ask(11))
    mailbox.collapse()
    assert mailbox.resync
    assert mailbox.urgent == 1
    assert numbers(mailbox) == [11, 2]


def test_emptying_gives_back_everything() -> None:
    mailbox = Mailbox()
    mailbox.append(hint(1))
    mailbox.put_control(ask(11))
    assert [envelope.id for envelope in mailbox.empty()] == [11, 1]
    mailbox.append(hint(2))
    assert numbers(mailbox) == [2]
