"""Acts of staff on work that is stuck: effects that fail again and again, and messages that crashed their actor.

They need no actor, because the actor itself may be stuck.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...storage import dead_letters, outbox
from ...storage.dead_letters import DeadLetter
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.upkeep import outbox_upkeep
from ...storage.upkeep.outbox_upkeep import ChosenEffects, WaitingEffect
from ..effects.registry import KINDS, GivenUp
from ..kernel.codec import Unreadable
from ..rules.roles import Permission
from .acts import StaffAct, Target, needs

DROPPED = GivenUp("dropped by staff")
NO_RELAY = 0  # the id of the relay that has claimed effects that staff drop: none
MOST_NAMED = 5  # effects that an error names


class NotDropped(Exception):
    """Raised when effects are still there after their deletion. The text names them, and nothing was changed."""


@needs(Permission.VIEW_DEVOPS)
async def retry_effects(act: StaffAct, chosen: ChosenEffects) -> int:
    """Have effects tried now that failed and wait for another try. Return how many."""
    retried = await outbox_upkeep.retry(act.db, chosen, act.now)
    if retried:
        await act.log("retry_effects", _target("effect", retried), "", count=len(retried))
        await notices.send(act.db, "outbox")
    return len(retried)


@needs(Permission.VIEW_DEVOPS)
async def drop_effects(act: StaffAct, chosen: ChosenEffects, most: int) -> int:
    """Give up the first `most` effects that no relay executes now. Return how many.

    Their `on_give_up` runs, as if the relay had given them up. Raises NotDropped.
    """
    db = act.db
    found = await outbox_upkeep.lock(db, chosen, act.now, most)
    for row in found:
        await _give_up(db, row)
    if found:
        ids = [row.id for row in found]
        kinds = dict(Counter(row.kind for row in found))
        for kind in kinds:
            delete = KINDS[kind].delete if kind in KINDS else outbox.delete_claimed
            await delete(db, [row.id for row in found if row.kind == kind], NO_RELAY)
        # Their rows are locked, so no other transaction can have kept them. Callers drop batches until none is left.
        if kept := await outbox_upkeep.kept(db, ids):
            shown = ", ".join(map(str, kept[:MOST_NAMED]))
            raise NotDropped(f"{len(kept)} of {len(ids)} effects are still there after their deletion, first {shown}.")
        await act.log("drop_effects", _target("effect", ids), "", count=len(ids), kinds=kinds)
    return len(found)


@needs(Permission.VIEW_DEVOPS)
async def drop_letters(act: StaffAct, ids: Sequence[int] | None) -> int:
    """Delete parked messages, or all of them. Return how many."""
    dropped = await dead_letters.delete_all(act.db) if ids is None else await dead_letters.delete(act.db, ids)
    if dropped:
        await act.log("drop_dead_letters", _target("dead_letter", dropped), "", count=len(dropped))
    return len(dropped)


@needs(Permission.VIEW_DEVOPS)
async def delete_replayed(act: StaffAct, letter: DeadLetter) -> None:
    """Delete a parked message that was sent again and handled."""
    await dead_letters.delete(act.db, [letter.id])
    target = Target("dead_letter", letter.id, f"{letter.kind} to {letter.address}")
    await act.log("replay_dead_letter", target)


async def _give_up(db: Connection, row: WaitingEffect) -> None:
    kind = KINDS.get(row.kind)
    if kind is None or kind.on_give_up is None:
        return
    try:
        effect = kind.payload.of_row(row.payload)
    except Unreadable:
        return  # of another version of the server
    await kind.on_give_up(db, effect, DROPPED)


def _target(type: str, ids: Sequence[int]) -> Target:
    return Target(type, ids[0], str(ids[0])) if len(ids) == 1 else Target(type, None, f"{len(ids)} at once")
