"""The claim of a node that lives ends by no clock, and by no other node."""

from __future__ import annotations

import pytest

from troupe.actors.outbox import relay
from troupe.supervision.testing import Budget, simulation
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage.cluster import SimulatedCluster

from ..breaking import first_failure
from .claims import LONGEST, deliver_slowly, hang, with_deliveries
from .mutants import Patch, claims_end_by_clocks


@simulation(seeds=2, world=with_deliveries)
async def test_what_a_slow_server_gets_is_sent_once(sim: SimulatedCluster) -> None:
    await deliver_slowly(sim)


@simulation(seeds=1, world=with_deliveries)
async def test_a_try_that_never_ends_is_ended_by_its_node_and_retried(sim: SimulatedCluster, longest_try: None) -> None:
    await hang(sim)


@pytest.fixture
def longest_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LONGEST_TRY", LONGEST)


def test_claims_that_end_by_clocks_are_found() -> None:
    with Patch.context() as patch:
        claims_end_by_clocks(patch)
        number, played = first_failure(Series(deliver_slowly, with_deliveries, Budget(0)))
    assert number < 10
    assert Series(deliver_slowly, with_deliveries, Budget(0)).play_seed(played.seed, played.strategy).error is None
