"""What a node knows of facts that it has committed and may not have sent: `Facts.publishing`."""

from __future__ import annotations

from typing import Any, cast

import pytest

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.facts.fact import Facts
from troupe.actors.kernel import Refused
from troupe.storage.engine.database import Doubtful, NotOwner, Unavailable

ADA = account_address(1)


@pytest.fixture
def facts() -> Facts:
    return Facts(*cast("Any", [None] * 7))


def test_facts_are_unpublished_until_all_commits_have_published_theirs(facts: Facts) -> None:
    with facts.publishing(ADA):
        with facts.publishing():
            assert not facts.has_published_all
        assert not facts.has_published_all
    assert facts.has_published_all


@pytest.mark.parametrize("error", [Unavailable("away"), NotOwner("moved"), Refused(422, "No.")])
def test_nothing_is_unpublished_if_nothing_was_committed(facts: Facts, error: Exception) -> None:
    with pytest.raises(type(error)), facts.publishing(ADA):
        raise error
    assert facts.has_published_all


@pytest.mark.parametrize("error", [Doubtful("cut"), ValueError("a bug"), KeyboardInterrupt()])
def test_facts_of_a_turn_that_has_failed_are_unpublished_until_its_actor_has_restarted(
    facts: Facts, error: BaseException
) -> None:
    for _ in range(3):
        with pytest.raises(type(error)), facts.publishing(ADA):
            raise error
    facts.published_again(account_address(2))
    assert not facts.has_published_all
    facts.published_again(ADA)
    assert facts.has_published_all


def test_facts_outside_of_turns_that_have_failed_stay_unpublished(facts: Facts) -> None:
    with pytest.raises(ValueError, match="a bug"), facts.publishing():
        raise ValueError("a bug")
    facts.published_again(ADA)
    assert not facts.has_published_all
