"""No text keeps the loop: the selection that is always played."""

import random

import pytest

from .inputs import fixed, mixed
from .measuring import LOOP_MILLISECONDS, milliseconds
from .targets import TARGETS, Target

MIXTURES = 20


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_text_keeps_the_loop(target: Target) -> None:
    chance = random.Random(target.name)
    texts = [*fixed(target.size), *(mixed(chance, target.size) for _ in range(MIXTURES))]
    costs = {name: milliseconds(lambda text=text: target.read(text)) for name, text in texts}
    assert {name: cost for name, cost in costs.items() if cost > LOOP_MILLISECONDS} == {}
