"""What a feed remembers: ids in their order, the oldest forgotten first."""

from troupe.actors.kernel.resumption import MEMORY, Subjects


def remembered(*subjects: int) -> Subjects:
    made = Subjects()
    for subject in subjects:
        made.add(subject)
    return made


def test_ids_are_found_in_whatever_order_they_came() -> None:
    found = remembered(5, -3, 9, 1, 5)
    assert list(found) == [-3, 1, 5, 9]
    assert [id in found for id in (-3, 1, 5, 9, 0, 3, 10)] == [True] * 4 + [False] * 3


def test_discarded_ids_are_forgotten_also_those_from_before_the_rows_were_read() -> None:
    found = remembered(1, 2)
    found.renew([2, 3])
    for id in (1, 3, 7):
        found.discard(id)
    assert list(found) == [2]


def test_negative_ids_are_as_old_as_their_opposites() -> None:
    found = remembered(*range(10, 10 + MEMORY - 2), -5, -20_000)
    assert len(found) == MEMORY
    found.add(20_001)
    assert -5 not in found
    found.add(20_002)
    assert 10 not in found
    assert -20_000 in found


def test_with_negative_ids_alone_the_one_next_to_zero_is_the_oldest() -> None:
    found = remembered(*(-id for id in range(1, MEMORY + 2)))
    assert -1 not in found
    assert -2 in found
