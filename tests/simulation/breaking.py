"""Finding a rule that was broken on purpose."""

import warnings
from collections.abc import Sequence

import pytest

from troupe.supervision.testing.series import PlayedSeed, Series

MOST = 200  # seeds until a mutant counts as not found
MANY = 30  # runs, of five a second: with more of them, a test is slower than it need be


def first_failure(series: Series, known: Sequence[tuple[int, str]] = ()) -> tuple[int, PlayedSeed]:
    """Return how many runs it took, and the one that failed. Runs that are `known` to fail are played first.

    A change of the product or of the scenario gives each seed another run. A search that takes long since then ends
    with a warning, so that the run which it has found is noted as known.
    """
    runs = [*known, *((seed, strategy) for seed in range(MOST) for strategy in ("random", "pct"))]
    for number, (seed, strategy) in enumerate(runs, 1):
        played = series.play_seed(seed, strategy)
        if played.error is not None:
            if number > MANY:
                warnings.warn(f"found in {number} runs; add ({seed}, {strategy!r}) to KNOWN", stacklevel=2)
            return number, played
    pytest.fail(f"not found in {len(runs)} runs")
