"""Admin::IpBlock."""

from __future__ import annotations

from ...storage.blocked_networks import BlockedNetwork
from .times import instant, maybe_instant


def blocked_network_fields(block: BlockedNetwork) -> dict[str, object]:
    return {
        "id": str(block.id),
        "ip": block.network,
        "severity": block.severity,
        "comment": block.comment,
        "created_at": instant(block.created_at),
        "expires_at": maybe_instant(block.expires_at),
    }
