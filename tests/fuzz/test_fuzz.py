"""No text of other people keeps the loop for long, as far as a short search finds."""

import pytest

from .fuzz import MOST_MILLISECONDS, Target, dearest, some_inputs
from .targets import TARGETS

PAIRS = 5


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_repetitive_input_keeps_the_loop_for_long(target: Target) -> None:
    costs = dearest(target, some_inputs(target.largest, seed=len(target.name), pairs=PAIRS), count=3)
    assert costs[0].milliseconds <= MOST_MILLISECONDS, costs
