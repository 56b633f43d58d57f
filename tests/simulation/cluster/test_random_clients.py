"""The random clients on a cluster: each request goes to a random node, and the model stays that of one server.

By default a few clients take a few steps. TROUPE_SIM_BASE and TROUPE_SIM_SEEDS choose other and more runs, also of a
hundred clients.
"""

from functools import partial

import pytest

from troupe.supervision.testing import Fault
from troupe.supervision.testing.faults import RATES
from troupe.supervision.testing.stage.cluster import OFFSETS, cluster

from ..clients.play import BASE, KINDS, SEEDS, play, script
from ..clients.script import DEEDS, Deed

APART = max(OFFSETS) - min(OFFSETS)  # seconds
DATAGRAMS = frozenset(RATES)
# Without polls and long waits: nodes hear from each other four times a second, which makes each virtual minute slow.
QUICK = tuple(deed for deed in DEEDS if deed not in (Deed.ASK, Deed.WAIT))
STRUCK = (*QUICK * 3, *(Deed.KILL,) * 3)
ALL_STRUCK = (*DEEDS * 5, Deed.KILL)

some = pytest.mark.parametrize("seed", range(BASE, BASE + int(SEEDS or 2)))


def play_on_nodes(
    seed: int, deeds: tuple[Deed, ...], kinds: frozenset[Fault], *, nodes: int = 3, people: int = 6, steps: int = 25
) -> None:
    """Two rounds of so many steps of clients whose requests go to any node."""
    rounds = script(seed, people, steps, 2, deeds)
    play(people, rounds, seed, partial(cluster, nodes=nodes), kinds=kinds, apart=APART)


@some
def test_clients_of_a_healthy_cluster_see_one_server(seed: int) -> None:
    play_on_nodes(seed, QUICK, frozenset())


@some
def test_clients_see_one_server_while_datagrams_are_lost_late_and_repeated(seed: int) -> None:
    play_on_nodes(seed, QUICK, DATAGRAMS)


@some
def test_clients_see_one_server_while_turns_crash_and_commits_are_lost(seed: int) -> None:
    play_on_nodes(seed, QUICK, KINDS)


@some
def test_clients_see_one_server_while_nodes_are_killed_frozen_cut_off_and_drained(seed: int) -> None:
    play_on_nodes(seed, STRUCK, KINDS)


def test_clients_of_five_nodes_see_one_server() -> None:
    for seed in range(BASE, BASE + int(SEEDS or 1)):
        play_on_nodes(seed, STRUCK, KINDS, nodes=5, people=8, steps=30)


if SEEDS is not None:  # each run takes a minute

    @some
    def test_a_hundred_clients_of_a_cluster_see_one_server(seed: int) -> None:
        play_on_nodes(seed, ALL_STRUCK, KINDS, people=100, steps=500)
