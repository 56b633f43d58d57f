"""Descriptions of actors: what they hold, and facts for the supervision log."""

from __future__ import annotations

from .cell import Cell, Incarnation
from .envelope import Envelope


def facts_of(cell: Cell, envelope: Envelope | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "actor": str(cell.address), "incarnation": cell.incarnation, "depth": len(cell.mailbox)
    }  # fmt: skip
    if envelope is not None:
        facts |= {
            "message": envelope.kind, "message_id": envelope.id, "request_id": envelope.origin.request_id,
            "causes": list(envelope.origin.causes),
        }  # fmt: skip
        if envelope.origin.trace:
            facts["trace_id"] = envelope.origin.trace_id
    return facts


def held_state(actor: Incarnation | None) -> str:
    """Return the actor's own description. An error in it does not harm the actor."""
    try:
        return actor.describe() if actor is not None else ""
    except BaseException as error:
        return f"can't be described: {type(error).__name__}"
