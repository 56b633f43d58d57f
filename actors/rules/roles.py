"""Roles of users, and their permissions. Every endpoint and every act of staff asks this table.

The bits of permissions are the same as in the entity Role of the Mastodon API.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final, Literal, get_args

Role = Literal["user", "moderator", "admin", "owner"]


class Permission(IntFlag):
    """One thing that a role may do to others, or to the server."""

    ADMINISTRATOR = 0x1  # everything
    VIEW_DEVOPS = 0x2
    VIEW_AUDIT_LOG = 0x4
    VIEW_DASHBOARD = 0x8
    MANAGE_REPORTS = 0x10
    MANAGE_FEDERATION = 0x20
    MANAGE_SETTINGS = 0x40
    MANAGE_BLOCKS = 0x80
    MANAGE_TAXONOMIES = 0x100
    MANAGE_APPEALS = 0x200
    MANAGE_USERS = 0x400
    MANAGE_INVITES = 0x800
    MANAGE_RULES = 0x1000
    MANAGE_ANNOUNCEMENTS = 0x2000
    MANAGE_CUSTOM_EMOJIS = 0x4000
    MANAGE_WEBHOOKS = 0x8000
    INVITE_USERS = 0x10000
    MANAGE_ROLES = 0x20000
    MANAGE_USER_ACCESS = 0x40000
    DELETE_USER_DATA = 0x80000


NONE: Final = Permission(0)
MODERATING: Final = (
    Permission.VIEW_DASHBOARD
    | Permission.VIEW_AUDIT_LOG
    | Permission.MANAGE_USERS
    | Permission.MANAGE_REPORTS
    | Permission.MANAGE_TAXONOMIES
)
NOT_ADMINS: Final = Permission.ADMINISTRATOR | Permission.VIEW_DEVOPS | Permission.INVITE_USERS
PERMISSIONS: Final[dict[str, Permission]] = {
    "user": Permission.INVITE_USERS,
    "moderator": MODERATING,
    "admin": ~NONE & ~NOT_ADMINS,
    "owner": Permission.ADMINISTRATOR,
}
# From the lowest to the highest. Staff act on accounts of lower roles only.
ROLES: Final[tuple[str, ...]] = get_args(Role)


def may(role: str | None, permission: Permission) -> bool:
    """True if a role has a permission. Accounts without a user have no role."""
    held = NONE if role is None else PERMISSIONS.get(role, NONE)
    return bool(held & (permission | Permission.ADMINISTRATOR))


def roles_with(permission: Permission) -> list[str]:
    """Return the roles that have a permission."""
    return [role for role in ROLES if may(role, permission)]


def is_staff(role: str | None) -> bool:
    return role is not None and role != "user"


def outranks(role: str, other: str | None) -> bool:
    """True if a role is higher than another role. Accounts without a user are below all roles."""
    return rank(role) > rank(other)


def rank(role: str | None) -> int:
    """Return the place of a role among all, -1 without a role."""
    return -1 if role is None else ROLES.index(role)
