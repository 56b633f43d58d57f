"""Waiting uploads: each node is shown those that it received."""

from datetime import timedelta

from troupe.storage import media

from .conftest import Stage, new_id

MINUTE = timedelta(minutes=1)


def waiting(stage: Stage, account_id: int, node: str) -> int:
    id = new_id()
    stage(media.insert_waiting, id, account_id, "video", node, None, "", None, stage.now)
    return id


def test_a_node_is_shown_the_uploads_that_it_received(stage: Stage) -> None:
    ada, bob = stage.account("ada").id, stage.account("bob").id
    first, second = waiting(stage, ada, "one"), waiting(stage, ada, "two")
    waiting(stage, bob, "two")
    for node, id in (("one", first), ("two", second)):
        due = stage(media.due, node, ada, stage.now)
        assert due is not None
        assert due.id == id
    assert stage(media.accounts_waiting, "one", stage.now, [], 9) == [ada]
    assert stage(media.accounts_waiting, "two", stage.now, [], 9) == [ada, bob]


def test_a_node_is_not_woken_for_the_retry_of_another_one(stage: Stage) -> None:
    ada = stage.account("ada").id
    for node, pause in (("one", MINUTE), ("two", 2 * MINUTE)):
        stage(media.put_off, waiting(stage, ada, node), stage.now + pause)
    assert stage(media.next_retry, "two", stage.now) == stage.now + 2 * MINUTE


def test_an_account_has_one_number_of_waiting_uploads_at_all_nodes(stage: Stage) -> None:
    ada = stage.account("ada").id
    waiting(stage, ada, "one")
    waiting(stage, ada, "two")
    assert stage(media.count_waiting, ada) == 2
