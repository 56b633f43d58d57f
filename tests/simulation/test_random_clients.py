"""Random clients, many at once, against a model of what they may observe.

For a few clients, hypothesis draws a script and a seed: the script says what each client wants, the seed who goes on
when, what crashes and which COMMIT is lost. A script that fails is made short. For many clients the seed decides all,
because hypothesis gives up an example of so many choices before it is drawn to its end. TROUPE_SIM_BASE chooses other
examples, TROUPE_SIM_SEEDS how many of them.
"""

from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as begin_at
from hypothesis import strategies as st

from troupe.supervision.testing.stage import stage

from .clients.play import BASE, SEEDS, play, run, script
from .clients.script import DEEDS, Deed, Rounds, steps

FEW, MANY, STEPS = 6, 100, 1000
seeds = st.integers(0, 2**32 - 1)
few_do_little = st.lists(st.lists(steps(FEW), max_size=25), max_size=3)
KILLED_RARELY = (*DEEDS * 5, Deed.KILL)
ROUNDS = 4


def examples(number: int, *phases: Phase) -> settings:
    """So many, or what the environment says. The first one is the emptiest there is, which shows nothing."""
    return settings(
        max_examples=1 + int(SEEDS or number), deadline=None, database=None, print_blob=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
        phases=phases,
    )  # fmt: skip


@begin_at(BASE)
@examples(40, Phase.generate, Phase.shrink)
@given(few_do_little, seeds)
def test_a_few_clients_observe_what_they_may(rounds: Rounds, seed: int) -> None:
    play(FEW, rounds, seed, stage)


@begin_at(BASE)
@examples(8, Phase.generate)
@given(few_do_little, seeds)
def test_a_few_clients_do_the_same_again(rounds: Rounds, seed: int) -> None:
    """What fails can only be looked into when it fails again."""
    assert run(FEW, rounds, seed, stage).outcome.digest == run(FEW, rounds, seed, stage).outcome.digest


@pytest.mark.parametrize("seed", range(BASE, BASE + int(SEEDS or 1)))
def test_a_hundred_clients_for_a_thousand_steps(seed: int) -> None:
    play(MANY, script(seed, MANY, STEPS // ROUNDS, ROUNDS, KILLED_RARELY), seed, stage)


@pytest.mark.parametrize("seed", range(BASE, BASE + int(SEEDS or 2)))
def test_a_few_clients_whose_transactions_overlap(seed: int) -> None:
    play(FEW, script(seed, FEW, 30, 3, KILLED_RARELY), seed, partial(stage, overlapping=True))
