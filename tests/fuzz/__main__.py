"""Search for slow texts until the time is over: `python -m tests.fuzz --minutes 10 --seed 1`."""

import argparse
import random
import sys
import time

from .inputs import fixed, mixed
from .measuring import LOOP_MILLISECONDS, milliseconds
from .targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    chance = random.Random(options.seed)
    print(f"seed {options.seed}")  # noqa: T201
    worst: dict[str, tuple[float, str]] = {}
    for target in TARGETS:
        for name, text in fixed(target.size):
            cost = milliseconds(lambda text=text, target=target: target.read(text))
            worst[target.name] = max(worst.get(target.name, (0.0, "")), (cost, name))
    while time.monotonic() < end:
        target = chance.choice(TARGETS)
        name, text = mixed(chance, target.size)
        cost = milliseconds(lambda text=text, target=target: target.read(text))
        worst[target.name] = max(worst[target.name], (cost, name))
    for name, (cost, text) in sorted(worst.items(), key=lambda item: -item[1][0]):
        print(f"{cost:7.1f} ms  {name:<28} {text}")  # noqa: T201
    return int(any(cost > LOOP_MILLISECONDS for cost, _ in worst.values()))


if __name__ == "__main__":
    sys.exit(main())
