"""Admin::CanonicalEmailBlock."""

from __future__ import annotations

from ...storage.blocked_emails import BlockedEmail


def blocked_email_fields(block: BlockedEmail) -> dict[str, object]:
    return {"id": str(block.id), "canonical_email_hash": block.email_hash.hex()}
