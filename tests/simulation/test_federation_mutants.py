"""Rules between servers broken on purpose: the scenarios with two servers find each of them within a few seeds."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import pytest

from troupe.actors.deliveries.sender import ClientPost, DeliveryReply
from troupe.actors.outgoing.errors import OutgoingFailure
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage import TwoServers, two_servers

from . import federation
from .breaking import first_failure
from .federation import FAULTS

Patch = pytest.MonkeyPatch


def no_answer_counts_as_delivered(patch: Patch) -> None:
    """A request that was lost on its way is not sent again."""
    post = ClientPost.__call__

    async def hopeful(self: ClientPost, *request: Any) -> DeliveryReply:
        try:
            return await post(self, *request)
        except OutgoingFailure:
            return DeliveryReply(202)

    patch.setattr(ClientPost, "__call__", hopeful)


def answers_to_earlier_follows_count(patch: Patch) -> None:
    """A Reject of a follow that was undone long ago ends the one that was sent since."""

    async def never(*terms: object) -> bool:
        return False

    patch.setattr(import_module("troupe.actors.federation.activities.accept"), "_is_superseded", never)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[TwoServers], Awaitable[None]]]] = [
    (no_answer_counts_as_delivered, federation.posts_amid_crashes),
    (answers_to_earlier_follows_count, federation.follows_change_on_both_sides),
]


@pytest.mark.parametrize(("break_rule", "scenario"), MUTANTS)
def test_a_broken_rule_between_servers_is_found(
    break_rule: Callable[[Patch], None], scenario: Callable[[TwoServers], Awaitable[None]]
) -> None:
    series = Series(scenario, two_servers, FAULTS)
    with Patch.context() as patch:
        break_rule(patch)
        number, played = first_failure(series)
    assert isinstance(played.error, AssertionError), "a claim is broken, and not merely the code"
    assert series.play_seed(played.seed, played.strategy).error is None, "and it holds when the rule does"
    sys.stdout.write(f"\n{break_rule.__name__}: run {number}, seed {played.seed}, {played.strategy}: {played.error}\n")
