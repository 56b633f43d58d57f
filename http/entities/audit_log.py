"""Admin::AuditEntry, an entity of this server alone."""

from __future__ import annotations

from ...storage.audit_log import AuditEntry
from .times import instant


def audit_entry_fields(entry: AuditEntry) -> dict[str, object]:
    """Return one act of staff. An actor without an id is the command line."""
    return {
        "id": str(entry.id),
        "created_at": instant(entry.created_at),
        "actor": {"id": _maybe_id(entry.actor_id), "name": entry.actor},
        "action": entry.action,
        "target": {"type": entry.target_type, "id": _maybe_id(entry.target_id), "name": entry.target},
        "reason": entry.reason,
        "details": entry.details,
    }


def _maybe_id(id: int | None) -> str | None:
    return None if id is None else str(id)
