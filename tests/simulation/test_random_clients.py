"""Random clients, many at once, against a model of what they may observe.

For a few clients, hypothesis draws a script and a seed: the script says what each client wants, the seed who goes on
when, what crashes and which COMMIT is lost. A script that fails is made short. For many clients the seed decides all,
because hypothesis gives up an example of so many choices before it is drawn to its end. TROUPE_SIM_BASE chooses other
examples, TROUPE_SIM_SEEDS how many of them.
"""

import os
import random
import shlex
from collections import defaultdict
from functools import partial

import pytest
import trio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as begin_at
from hypothesis import strategies as st

from troupe.storage import lists
from troupe.storage.lists import List
from troupe.supervision.testing import Budget, Fault
from troupe.supervision.testing.decorator import World
from troupe.supervision.testing.faults import Chance
from troupe.supervision.testing.report import traced
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.stage import Simulation, stage
from troupe.supervision.testing.trace import Line

from .clients.audit import Audit
from .clients.model import Model
from .clients.reader import Reader
from .clients.script import DEEDS, Deed, Rounds, Step, a_step, steps

BASE = int(os.environ.get("TROUPE_SIM_BASE", "0"))
SEEDS = os.environ.get("TROUPE_SIM_SEEDS")

# Streams are read by real sessions here, whose slowness is not injected.
KINDS = frozenset(Fault) - {Fault.SLOW, Fault.DEAD}
POINTS = 40  # at which a step can fail, about
FOLLOWED = 5  # how many of their neighbours people follow at the beginning
MOST_LINES = 80

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
    play(FEW, rounds, seed)


@begin_at(BASE)
@examples(8, Phase.generate)
@given(few_do_little, seeds)
def test_a_few_clients_do_the_same_again(rounds: Rounds, seed: int) -> None:
    """What fails can only be looked into when it fails again."""
    assert run(FEW, rounds, seed).outcome.digest == run(FEW, rounds, seed).outcome.digest


@pytest.mark.parametrize("seed", range(BASE, BASE + int(SEEDS or 1)))
def test_a_hundred_clients_for_a_thousand_steps(seed: int) -> None:
    chance = random.Random(f"script/{seed}")
    rounds = [[a_step(chance, MANY, KILLED_RARELY) for _ in range(STEPS // ROUNDS)] for _ in range(ROUNDS)]
    play(MANY, rounds, seed)


@pytest.mark.parametrize("seed", range(BASE, BASE + int(SEEDS or 2)))
def test_a_few_clients_whose_transactions_overlap(seed: int) -> None:
    chance = random.Random(f"script/{seed}")
    rounds = [[a_step(chance, FEW, KILLED_RARELY) for _ in range(30)] for _ in range(3)]
    play(FEW, rounds, seed, world=partial(stage, overlapping=True))


def play(people: int, rounds: Rounds, seed: int, world: World = stage) -> None:
    """One run, which fails with the last that happened and how to have it again."""
    played = run(people, rounds, seed, world)
    if played.error is not None:
        test = shlex.quote(os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0])
        again = {"TROUPE_SIM_BASE": str(BASE)} | ({"TROUPE_SIM_SEEDS": SEEDS} if SEEDS else {})
        played.error.add_note("\n".join([
            *story(played.trace), *traced(played.error),
            f"Play it again: {' '.join(f'{name}={value}' for name, value in again.items())} python -m pytest {test}",
        ]))  # fmt: skip
        raise played.error


def run(people: int, rounds: Rounds, seed: int, world: World = stage) -> PlayedSeed:
    """Some run of a script: the seed decides the schedule and the faults."""
    count = sum(map(len, rounds))
    series = Series(lambda sim: live(sim, people, rounds), world, step_limit=20_000 + 10_000 * count)
    return series.play(seed, "random", Chance(seed, Budget(2 + count // 50, KINDS), POINTS * max(count, 1)))


def story(trace: list[Line]) -> list[str]:
    """What clients were answered, and what went wrong, at the end."""
    told = [f"{at:10.3f}  {who:<24}  {what}" for at, who, what in trace if "/api/" in what or "FAULT" in what]
    return told[-MOST_LINES:]


async def live(sim: Simulation, people: int, rounds: Rounds) -> None:
    """All clients do the steps of the script, round by round."""
    model = Model(people)
    async with trio.open_nursery() as nursery:
        readers = await settle_in(sim, model, nursery)
        audit = Audit(sim, model, readers)
        for round in rounds:
            async with sim.together() as go:
                for reader, mine in shares(readers, round).items():
                    go(reader.act, mine, name=f"c{reader.number}")
            await audit.run()
        nursery.cancel_scope.cancel()


def shares(readers: list[Reader], round: list[Step]) -> dict[Reader, list[Step]]:
    """The steps of each client, in order."""
    shares: dict[Reader, list[Step]] = defaultdict(list)
    for step in round:
        shares[readers[step.who]].append(step)
    return shares


async def settle_in(sim: Simulation, model: Model, nursery: trio.Nursery) -> list[Reader]:
    """People in a ring, who know those that stand next to them, each with a token and a list."""
    people = await sim.people(*(f"c{number}" for number in model.people))
    sim.sign_in(people)
    readers: list[Reader] = []
    for number, person in enumerate(people):
        for other in range(number + 1, number + 1 + min(FOLLOWED, len(people) - 1)):
            person.has_followed(people[other % len(people)])
            model.fact("follows", number, other % len(people)).set(True)
        mine = List(sim.new_id(), person.id, "mine", "list", False, sim.run.clock.now())
        sim.database.arrange(lists.insert, mine, 1)
        readers.append(Reader(sim, model, people, number, mine.id, nursery))
    return readers
