"""Marker."""

from __future__ import annotations

from ...storage.markers import Marker
from .times import instant


def marker_fields(marker: Marker) -> dict[str, object]:
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": instant(marker.updated_at),
    }
