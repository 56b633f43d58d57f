"""Role."""

from __future__ import annotations

from ...actors.rules.roles import PERMISSIONS, is_staff, rank


def role_fields(role: str) -> dict[str, object]:
    """Return a role. Its id is its rank: the reference's default role has the id -99, and ids are digits."""
    return {
        "id": str(rank(role)),
        "name": role.capitalize() if is_staff(role) else "",
        "color": "",
        "permissions": str(int(PERMISSIONS[role])),
        "highlighted": is_staff(role),
    }
