"""Ids of stream events mean the same on every node of a cluster.

A client has the id `P.KEYS` of an old node, and resumes on a new node. The new node first waits until its own position
has reached P, then adds the client to the feed, then reads the rows: those of the log after P, and the outbox. Where the
row of an event may be, and whether the old node has shown it:

| row | shown before | what happens on the new node |
|---|---|---|
| in the log, at most P | yes | Not read. Its facts had arrived before the position reached P, so its message is before the client in the mailbox, or was shown when the timeline was read again: the client's feed does not have it. |
| in the log, at most P | no | Impossible: the position of the old node passes a row only after its facts were published there. |
| in the log, after P | yes | Its key is in KEYS: it is not shown from the row, nor from the feed. |
| in the log, after P | no | Shown from the row. In the feed its key is known. If it is after the position of the new node, its key is in the next ids. |
| in the outbox | yes | Its key is in KEYS, and stays in the next ids, because its node may publish it again, or the next owner. |
| in the outbox | no | Shown from the row, and its key is in the next ids. In the feed its key is known. |
| moved between the read and the next id | | One statement reads both tables, so it was in one of them. At positions up to that of the new node nothing is written any more. |
| not committed at the read | no | Shown from the feed alone, which the client has joined before. |
"""  # noqa: E501

from collections.abc import Iterable
from typing import Any

import pytest

from troupe.actors.broadcast.publications import Progress, Publications
from troupe.actors.kernel import Event, Ids
from troupe.actors.kernel.resumption import LEFT_OUT, MOST_KEYS, FeedProgress, Publication, ResumptionPoint
from troupe.http.streaming.session import Subscription

from .nodes import BEGAN, Node, World

STEPS = 1500


class Still:
    """A clock that stands still."""

    def now(self) -> Any:
        return BEGAN


class Two:
    """Two nodes, wired by hand. Each test does one order of steps."""

    def __init__(self) -> None:
        self.a, self.b = (Publications(Ids(Still(), number)) for number in (1, 2))
        self.a.join("b")
        self.b.join("a")
        self.exchange()

    def exchange(self) -> None:
        self.b.hear("a", self.a.progress())
        self.a.hear("b", self.b.progress())

    def publish(self) -> tuple[int, int]:
        """Publish on A, and apply the facts on B. Return the numbers of both."""
        with self.a.publication() as number:
            pass
        with self.b.foreign("a", number):
            return number, self.b.current

    def write(self, *numbers: int) -> int:
        position = draw(self.a)
        self.a.will_log(position)
        self.a.logged(numbers, position)
        return position


def draw(publications: Publications) -> int:
    return publications.newest


@pytest.fixture
def two() -> Two:
    return Two()


def test_a_publication_ends_when_the_position_has_reached_its_row(two: Two) -> None:
    number, there = two.publish()
    two.exchange()
    assert there in two.b.unlogged()
    position = two.write(number)
    assert two.a.position < position  # B may still write below
    assert number in two.a.open
    assert number not in two.a.unlogged()
    two.exchange()
    assert there not in two.b.open
    assert two.b.position >= position
    two.exchange()
    assert number not in two.a.open


def test_the_position_stays_below_rows_whose_outcome_is_not_known(two: Two) -> None:
    number, there = two.publish()
    position = draw(two.a)
    two.a.will_log(position)  # and the answer is lost
    two.exchange()
    two.exchange()
    assert two.a.position < position
    assert two.b.position < position
    two.a.will_log(draw(two.a))  # the next try
    two.exchange()
    assert two.b.position < position
    two.a.logged([number], draw(two.a))
    two.exchange()
    assert two.b.position > position
    assert there not in two.b.open


def test_publications_end_in_any_order(two: Two) -> None:
    first, first_there = two.publish()
    second, second_there = two.publish()
    two.write(second)
    two.exchange()
    assert {first_there, second_there} <= two.b.open.keys()  # only the oldest number is told
    two.write(first)
    two.exchange()
    assert not two.b.open


def test_a_bundle_that_arrives_after_the_progress_that_ends_it(two: Two) -> None:
    with two.a.publication() as number:
        pass
    two.write(number)
    two.b.hear("a", two.a.progress())
    with two.b.foreign("a", number):
        there = two.b.current
    two.exchange()
    assert there not in two.b.open


def test_an_older_progress_changes_nothing(two: Two) -> None:
    older = two.a.progress()
    two.exchange()
    position = two.b.position
    two.b.hear("a", older)
    assert two.b.position == position


def test_facts_that_streams_do_not_show_are_no_publication(two: Two) -> None:
    with two.b.foreign("a", 0):
        assert two.b.current == 0
    assert not two.b.open


def test_a_failed_publication_stays_among_the_keys_and_holds_back_no_other(two: Two) -> None:
    number, there = two.publish()
    two.a.hold(number)
    second, second_there = two.publish()
    two.write(second)
    two.exchange()
    two.exchange()
    for publications, failed, logged in ((two.a, number, second), (two.b, there, second_there)):
        assert failed in publications.unlogged()
        assert publications.oldest > logged
        assert publications.with_position(Event()).publication.unlogged == {failed}


def test_the_publications_of_a_node_that_has_left_stay_among_the_keys(two: Two) -> None:
    _, there = two.publish()
    two.exchange()
    two.b.leave("a", 0)
    two.b.hear("a", two.a.progress())  # late
    assert there in two.b.unlogged()
    assert there not in two.b.open
    with two.b.publication() as number:
        event = two.b.with_position(Event())
    assert event.publication.unlogged == {there}
    assert event.publication.number == number


def test_new_ids_are_above_those_of_a_node_that_has_left(two: Two) -> None:
    highest = two.a.newest + (1 << 40)
    two.b.leave("a", highest)
    assert two.b.newest > highest


def test_the_position_waits_for_a_node_that_joins(two: Two) -> None:
    position = two.a.position
    two.a.join("c")
    two.exchange()
    two.exchange()
    assert two.a.position == position
    two.a.hear("c", Progress(draw(two.a), 1))
    assert two.a.position > position


def test_there_is_no_position_before_all_nodes_are_heard() -> None:
    publications = Publications(Ids(Still(), 1))
    publications.join("b")
    assert publications.position == 0
    assert publications.with_position(Event()).publication == Publication(0, 0, 1)


def test_a_key_of_an_unlogged_publication_stays_in_the_ids() -> None:
    progress = FeedProgress()
    assert progress.after(Publication(10, 1, 1), "1") == "10.1"
    assert progress.after(Publication(20, 2, 2, frozenset({1})), "2") == "20.1.2"
    assert progress.after(Publication(10, 3, 1), "3") == "20.1.2.3"  # an older message
    assert progress.after(Publication(30, 4, 4), "4") == "30.4"


def test_an_id_with_too_many_keys_says_that_some_are_left_out() -> None:
    progress = FeedProgress()
    for number in range(1, MOST_KEYS + 1):
        last = progress.after(Publication(10, number, 1), f"{number}")
        assert LEFT_OUT not in last.split(".")
    for number in range(MOST_KEYS + 1, 2 * MOST_KEYS):
        keys = read(progress.after(Publication(10, number, 1), f"{number}")).keys
        assert (len(keys), keys[0], keys[-1]) == (MOST_KEYS, LEFT_OUT, f"{number}")
    assert progress.after(Publication(20, 900, 900), "900") == "20.900"
    written = str(ResumptionPoint(10, tuple(map(str, range(1, MOST_KEYS + 2)))))
    assert read(written).keys == (LEFT_OUT, *map(str, range(3, MOST_KEYS + 2)))


def read(id: str) -> ResumptionPoint:
    point = ResumptionPoint.read(id)
    assert point is not None
    return point


def run(seed: int) -> None:
    """Run three nodes. Half of the runs have failures, half lose bundles, and in two of three a node is killed."""
    world = World(seed, trouble=0.1 * (seed % 2), loss=0.05 * (seed // 2 % 2))
    world.run(STEPS, killed=seed % 3 > 0)
    world.check()


@pytest.mark.parametrize("seeds", [range(n, n + 12) for n in range(0, 72, 12)])
def test_a_client_that_moves_between_nodes_is_shown_everything_once(seeds: Iterable[int]) -> None:
    for seed in seeds:
        run(seed)


def floor_during_writes(self: Any) -> int:
    """As `_floor`, also while rows are being written."""
    return self._ids.next()


def own_floor(self: Any, floor: int) -> int:
    """As `_lowest`, without the other nodes."""
    return floor


def ended_before_the_position(self: Any, numbers: Iterable[int], position: int) -> None:
    """As `logged`, but the publications end at once."""
    self._writing = 0
    for number in numbers:
        self._unlogged.pop(number, None)
        self.open.pop(number, None)
    self._advance(position)


def ended_when_logged_elsewhere(self: Any, peer: Any) -> None:
    """As `_settle`, but the publications end at once."""
    for entry in [entry for entry in peer.waiting if entry[0] < peer.progress.oldest]:
        peer.waiting.remove(entry)
        del self.open[entry[1]]


def forgotten(self: Any, numbers: Iterable[int]) -> None:
    """As `_hold`, but nothing is held."""
    for number in numbers:
        del self.open[number]


def failed_and_ended(self: Any, number: int) -> None:
    """As `hold`, but the publication ends."""
    del self._unlogged[number], self.open[number]


def left_without_ids(self: Node, other: Node) -> None:
    """As `leave`, but the ids of the node are not witnessed."""
    self.reread()
    del self.inbound[other], self.sent[other]
    self.publications.leave(other.name, 0)


def id_of_feed(self: Any, logged: Any) -> str:
    """As `id_of`, without what the resumed stream has sent."""
    return logged.id


# What is replaced, and the first seed that finds it.
FAULTS = [
    (Publications, "_floor", floor_during_writes, 2),
    (Publications, "_lowest", own_floor, 2),
    (Publications, "logged", ended_before_the_position, 180),
    (Publications, "_settle", ended_when_logged_elsewhere, 209),
    (Publications, "_hold", forgotten, 81),
    (Publications, "hold", failed_and_ended, 81),
    (Node, "leave", left_without_ids, 1),
    (Subscription, "id_of", id_of_feed, 12),
]


@pytest.mark.parametrize(("owner", "name", "fault", "seed"), FAULTS)
def test_a_fault_is_found(owner: type, name: str, fault: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run(seed)
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(AssertionError):
        run(seed)
