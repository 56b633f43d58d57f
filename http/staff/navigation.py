"""The navigation of the pages for staff: the sections with the permissions of their pages."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.rules.roles import Permission, may


@dataclass(frozen=True, slots=True)
class Section:
    """A link of the navigation."""

    words: str
    path: str
    permission: Permission


SECTIONS: dict[str, tuple[Section, ...]] = {
    "": (
        Section("Overview", "/admin", Permission.VIEW_DASHBOARD),
        Section("Figures", "/admin/figures", Permission.VIEW_DASHBOARD),
    ),
    "Moderation": (
        Section("Reports", "/admin/reports", Permission.MANAGE_REPORTS),
        Section("Accounts", "/admin/accounts", Permission.MANAGE_USERS),
        Section("Appeals", "/admin/appeals", Permission.MANAGE_APPEALS),
        Section("Trends", "/admin/trends", Permission.MANAGE_TAXONOMIES),
        Section("Hashtags", "/admin/tags", Permission.MANAGE_TAXONOMIES),
        Section("Acts of staff", "/admin/acts", Permission.VIEW_AUDIT_LOG),
    ),
    "Server": (
        Section("Settings", "/admin/settings", Permission.MANAGE_SETTINGS),
        Section("Rules", "/admin/rules", Permission.MANAGE_RULES),
        Section("Terms of service", "/admin/terms", Permission.MANAGE_SETTINGS),
        Section("Description and privacy", "/admin/texts", Permission.MANAGE_SETTINGS),
        Section("Announcements", "/admin/announcements", Permission.MANAGE_ANNOUNCEMENTS),
        Section("Invites", "/admin/invites", Permission.MANAGE_INVITES),
        Section("Emoji", "/admin/emoji", Permission.MANAGE_CUSTOM_EMOJIS),
    ),
    "Blocks": (
        Section("Blocked domains", "/admin/domains", Permission.MANAGE_FEDERATION),
        Section("Allowed domains", "/admin/allowed_domains", Permission.MANAGE_FEDERATION),
        Section("Blocked networks", "/admin/networks", Permission.MANAGE_BLOCKS),
        Section("Blocked e-mail domains", "/admin/email_domains", Permission.MANAGE_BLOCKS),
        Section("Blocked e-mails", "/admin/emails", Permission.MANAGE_BLOCKS),
    ),
    "Operation": (
        Section("Supervision tree", "/admin/tree", Permission.VIEW_DEVOPS),
        Section("Actors", "/admin/actors", Permission.VIEW_DEVOPS),
        Section("Supervision log", "/admin/log", Permission.VIEW_DEVOPS),
        Section("Outbox", "/admin/outbox", Permission.VIEW_DEVOPS),
        Section("Dead letters", "/admin/dead_letters", Permission.VIEW_DEVOPS),
    ),
}


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A link of the navigation on a page."""

    words: str
    path: str
    current: bool


def sections_for(role: str, path: str) -> dict[str, list[ShownSection]]:
    """Return the links for a role, by their headings. `current` marks the section of `path`."""
    shown = {
        heading: [
            ShownSection(section.words, section.path, _leads_to(section.path, path))
            for section in sections
            if may(role, section.permission)
        ]
        for heading, sections in SECTIONS.items()
    }
    return {heading: sections for heading, sections in shown.items() if sections}


def _leads_to(section: str, path: str) -> bool:
    if path == "/admin/actor":  # the page of an actor, whose address is in the query
        return section == "/admin/actors"
    return path == section or (section != "/admin" and path.startswith(f"{section}/"))
