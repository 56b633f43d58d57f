"""An account's memory mirrors its rows: a change that was not stored has changed nothing."""

from troupe.supervision.testing import Budget, Fault, sweep
from troupe.supervision.testing.stage import Simulation, stage

from .scenarios import change_ones_mind

NOT_STORED = Budget(1, frozenset({Fault.LOST, Fault.DOUBT_UNDONE, Fault.CONFLICT}))


@sweep(faults=NOT_STORED, world=stage)
async def test_a_change_that_was_not_stored_has_changed_nothing(sim: Simulation) -> None:
    await change_ones_mind(sim)
