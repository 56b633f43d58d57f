"""What a post of another server quotes ends the same in every order of its edits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from troupe.actors.activitypub.notes import ReceivedQuote
from troupe.actors.commands.late_parts import JoinParts
from troupe.actors.commands.statuses import DeleteStatus, PublishStatus
from troupe.storage.federation.remote_statuses import EditState
from troupe.storage.statuses import Status
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation

from .foreign import Foreigner
from .receiving import HERE, act, all_applied, create, in_some_order, note, with_servers


@simulation(seeds=12, faults=2, world=with_servers)
async def test_the_quote_of_the_last_edit_stays_in_every_order(sim: Simulation) -> None:
    """Also while one of the quoted posts is deleted, and what the first state names was fetched and comes late."""
    ada = await sim.account("ada")
    ada.has_followed(bob := Foreigner(sim, "bob", "b.example"))
    quoted: list[Status] = []
    for number in (1, 2):
        status = await ada.insist(PublishStatus(f"{number}", quote_policy="public", idempotency_key=f"{number}"))
        assert isinstance(status, Status)
        quoted.append(status)
    now = sim.run.clock.now()
    first = note(bob, 1, published=(now - timedelta(minutes=9)).isoformat())
    await sim.receive(create(bob, first))
    await all_applied(sim)
    edits: list[dict[str, Any]] = []
    for number, status in enumerate(quoted, 1):
        updated = (now - timedelta(minutes=9 - number)).isoformat()
        edits.append(act(bob, "Update", first | {"quote": status.uri, "updated": updated}, number))
    late = JoinParts(first["id"], EditState(None, None), (f"{HERE}/ada",), ReceivedQuote(quoted[0].uri))
    async with sim.together() as go:
        for edit in in_some_order(sim, edits):
            go(sim.receive, edit, name=str(edit["id"]))
        go(bob.attempt, late, name="what was fetched")
        if sim.run.seed % 2 == 0:
            go(ada.attempt, DeleteStatus(quoted[0].id), name="ada")
    await all_applied(sim)
    (row,) = sim.database.rows("SELECT quote_of_id, quote_state FROM statuses WHERE NOT local")
    assert (row["quote_of_id"], row["quote_state"]) == (quoted[1].id, "accepted")
    counts = "SELECT quotes FROM status_counts WHERE status_id = $1"
    assert [sim.database.rows(counts, one.id)[0]["quotes"] for one in quoted] == [0, 1]
