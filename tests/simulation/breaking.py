"""Finding a rule that was broken on purpose."""

from collections.abc import Sequence

import pytest

from troupe.supervision.testing.series import PlayedSeed, Series

MOST = 200  # seeds until a mutant counts as not found


def first_failure(series: Series, known: Sequence[tuple[int, str]] = ()) -> tuple[int, PlayedSeed]:
    """How many runs it took, and the one that failed. Runs that are `known` to have failed before are played first."""
    runs = [*known, *((seed, strategy) for seed in range(MOST) for strategy in ("random", "pct"))]
    for number, (seed, strategy) in enumerate(runs, 1):
        played = series.play_seed(seed, strategy)
        if played.error is not None:
            return number, played
    pytest.fail(f"not found in {len(runs)} runs")
