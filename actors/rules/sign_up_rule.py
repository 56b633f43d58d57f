"""The rule for sign-ups: what staff chose comes before the configuration, and without mail, sign-ups are closed."""

from __future__ import annotations

from ...storage.changed_settings import Registrations


def effective_registrations(
    changed: Registrations | None, configured: Registrations, *, sends_mail: bool
) -> Registrations:
    """Return who may sign up. Without a mail server, no address can be confirmed."""
    return (changed or configured) if sends_mail else "closed"
