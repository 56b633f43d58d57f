"""Runs of scripts: all clients do their steps at once, and then everything is compared with the model."""

from __future__ import annotations

import os
import random
import shlex
from collections import defaultdict
from collections.abc import Sequence

import trio

from troupe.storage import lists
from troupe.storage.lists import List
from troupe.supervision.testing import Budget, Fault
from troupe.supervision.testing.decorator import World as MakeWorld
from troupe.supervision.testing.faults import Chance
from troupe.supervision.testing.report import traced
from troupe.supervision.testing.series import PlayedSeed, Series
from troupe.supervision.testing.trace import Line

from .audit import Audit
from .model import Model
from .reader import Reader
from .script import Deed, Rounds, Step, a_step
from .world import World

BASE = int(os.environ.get("TROUPE_SIM_BASE", "0"))
SEEDS = os.environ.get("TROUPE_SIM_SEEDS")

# Streams are read by real sessions here, whose slowness is not injected.
KINDS = frozenset(Fault) - {Fault.SLOW, Fault.DEAD}
POINTS = 40  # at which a step can fail, about
FOLLOWED = 5  # how many of their neighbours people follow at the beginning
MOST_LINES = 80


def script(seed: int, people: int, steps: int, rounds: int, deeds: Sequence[Deed]) -> Rounds:
    """A script that a seed decides, of rounds with so many steps."""
    chance = random.Random(f"script/{seed}")
    return [[a_step(chance, people, deeds) for _ in range(steps)] for _ in range(rounds)]


def play(
    people: int, rounds: Rounds, seed: int, world: MakeWorld, *, kinds: frozenset[Fault] = KINDS, apart: float = 0.0
) -> None:
    """One run, which fails with the last that happened and how to have it again."""
    played = run(people, rounds, seed, world, kinds=kinds, apart=apart)
    if played.error is not None:
        test = shlex.quote(os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0])
        again = {"TROUPE_SIM_BASE": str(BASE)} | ({"TROUPE_SIM_SEEDS": SEEDS} if SEEDS else {})
        played.error.add_note("\n".join([
            *story(played.trace), *traced(played.error),
            f"Play it again: {' '.join(f'{name}={value}' for name, value in again.items())} python -m pytest {test}",
        ]))  # fmt: skip
        raise played.error


def run(
    people: int, rounds: Rounds, seed: int, world: MakeWorld, *, kinds: frozenset[Fault] = KINDS, apart: float = 0.0
) -> PlayedSeed:
    """Some run of a script: the seed decides the schedule and the faults. `apart` is as in `Model`."""
    count = sum(map(len, rounds))
    series = Series(lambda sim: live(sim, Model(people, apart), rounds), world, step_limit=20_000 + 10_000 * count)
    return series.play(seed, "random", Chance(seed, Budget(2 + count // 50, kinds), POINTS * max(count, 1)))


def story(trace: list[Line]) -> list[str]:
    """What clients were answered, and what went wrong, at the end."""
    told = [f"{at:10.3f}  {who:<24}  {what}" for at, who, what in trace if "/api/" in what or "FAULT" in what]
    return told[-MOST_LINES:]


async def live(sim: World, model: Model, rounds: Rounds) -> None:
    """All clients do the steps of the script, round by round."""
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


async def settle_in(sim: World, model: Model, nursery: trio.Nursery) -> list[Reader]:
    """People in a ring, who know those that stand next to them, each with a token and a list."""
    people = await sim.people(*(f"c{number}" for number in model.people))
    sim.sign_in(people)
    readers: list[Reader] = []
    for number, person in enumerate(people):
        for other in range(number + 1, number + 1 + min(FOLLOWED, len(people) - 1)):
            person.has_followed(people[other % len(people)])
            model.fact("follows", number, other % len(people)).set(True)
        mine = List(sim.new_id(), person.id, "mine", "list", False, sim.clock.now())
        sim.database.arrange(lists.insert, mine, 1)
        readers.append(Reader(sim, model, people, number, mine.id, nursery))
    return readers
