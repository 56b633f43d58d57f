"""Look for inputs that keep the server's loop for too long: `python -m tests.fuzz --minutes 10`.

Ends with 1 if it has found one.
"""

from __future__ import annotations

import random
import sys
import time

import click

from .fuzz import MOST_MILLISECONDS, Cost, all_inputs, cost_of, random_input
from .targets import TARGETS

SHOWN = 5  # of each target


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, help="How long to look.")
@click.option("--only", default="", help="A part of the names of the targets.")
@click.option("--seed", default=0, help="Other random inputs, and the pairs in another order.")
def main(minutes: float, only: str, seed: int) -> None:
    targets = [target for target in TARGETS if only in target.name]
    ends, chance = time.monotonic() + minutes * 60, random.Random(seed)
    found: dict[str, list[Cost]] = {target.name: [] for target in targets}
    systematic = {target.name: all_inputs(target.largest) for target in targets}
    while time.monotonic() < ends:
        for target in targets:
            name, text = next(systematic[target.name], None) or random_input(target.largest, chance)
            costs = found[target.name]
            costs.append(cost_of(target, name, text))
            if chance.random() < 0.3:
                costs.append(cost_of(target, *random_input(target.largest, chance)))
            found[target.name] = sorted(costs, reverse=True)[:SHOWN]
    dearest = sorted((cost for costs in found.values() for cost in costs), reverse=True)
    for cost in dearest:
        click.echo(f"{cost.milliseconds:8.1f} ms  {cost.target}: {cost.input}")
    sys.exit(1 if any(cost.milliseconds > MOST_MILLISECONDS for cost in dearest) else 0)


if __name__ == "__main__":
    main()
