"""The weaker designs, and single guards that are taken out: the scenarios of the cluster find each of them.

Run with `-s` to read which seed found what.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from troupe.supervision.testing import Budget
from troupe.supervision.testing.series import Series
from troupe.supervision.testing.stage.cluster import cluster

from ..breaking import first_failure
from .cut_ways import interact_after_an_act, mute_beside_a_stream, post_after_a_faster_clock
from .hiding import hide_and_read
from .mutants import (
    Patch,
    acknowledgements_are_not_awaited,
    bundles_are_acknowledged_before_they_are_applied,
    bundles_have_no_publication,
    epochs_are_compared_before_the_transaction,
    epochs_are_not_compared,
    facts_of_the_former_owner_wait_for_the_relay,
    ids_of_ended_nodes_are_not_known,
    incomplete_owners_execute_commands,
    logs_of_ended_nodes_are_waited_for,
    lost_facts_are_not_read_again,
    nodes_always_answer,
    publications_of_ended_nodes_stay_open,
    removed_nodes_may_write,
    replaced_nodes_are_not_waited_for,
    streams_are_not_paused,
    taken_actors_are_not_loaded_again,
    writers_do_not_wait,
    writers_wait_for_a_moment,
)
from .removals import revoke_tokens
from .replacements import mute_while_a_node_is_replaced
from .short_ids import ids_become_short
from .slow_owners import post_and_read
from .takeovers import change_ones_mind

Mutant = tuple[Callable[[Patch], None], Callable[..., Any], list[tuple[int, str]]]

MUTANTS: list[Mutant] = [
    (writers_do_not_wait, hide_and_read, [(0, "random")]),
    (writers_wait_for_a_moment, hide_and_read, [(1, "random"), (1, "pct")]),
    (acknowledgements_are_not_awaited, hide_and_read, [(0, "random")]),
    (bundles_are_acknowledged_before_they_are_applied, hide_and_read, []),
    (lost_facts_are_not_read_again, hide_and_read, [(4, "pct"), (6, "pct")]),
    (nodes_always_answer, hide_and_read, [(3, "random"), (3, "pct")]),
    (epochs_are_not_compared, change_ones_mind, [(1, "random")]),
    (epochs_are_compared_before_the_transaction, change_ones_mind, [(1, "random")]),
    (removed_nodes_may_write, revoke_tokens, []),
    (replaced_nodes_are_not_waited_for, mute_while_a_node_is_replaced, [(0, "random")]),
    (incomplete_owners_execute_commands, interact_after_an_act, [(4, "random")]),
    (streams_are_not_paused, mute_beside_a_stream, [(1, "random")]),
    (taken_actors_are_not_loaded_again, post_and_read, [(0, "random")]),
    (facts_of_the_former_owner_wait_for_the_relay, post_and_read, [(10, "random")]),
    (bundles_have_no_publication, ids_become_short, [(0, "random")]),
    (logs_of_ended_nodes_are_waited_for, ids_become_short, [(0, "random")]),
    (publications_of_ended_nodes_stay_open, ids_become_short, [(5, "random")]),
    (ids_of_ended_nodes_are_not_known, post_after_a_faster_clock, [(0, "random")]),
]


@pytest.mark.parametrize(("break_rule", "scenario", "known"), MUTANTS)
def test_a_guard_that_is_taken_out_is_found(
    break_rule: Callable[[Patch], None], scenario: Callable[..., Any], known: list[tuple[int, str]]
) -> None:
    series = Series(scenario, partial(cluster, nodes=3), Budget(3))
    with Patch.context() as patch:
        break_rule(patch)
        number, played = first_failure(series, known)
    assert played.error is not None
    assert series.play_seed(played.seed, played.strategy).error is None, "and it holds when the rule does"
    sys.stdout.write(
        f"\n{break_rule.__name__}: run {number}, seed {played.seed}, {played.strategy}: {played.error!r}\n"
    )
