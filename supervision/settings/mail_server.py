"""The mail server that the settings name."""

from __future__ import annotations

from ...actors.configuration import MailSettings
from ...actors.mail.smtp import Smtp


def smtp_of(settings: MailSettings) -> Smtp | None:
    """Return how to reach the mail server; None if no mail is sent."""
    if settings.smtp_host is None:
        return None
    password = settings.smtp_password.get_secret_value() if settings.smtp_password else None
    name = settings.mail_sender.rpartition("@")[2]
    return Smtp(settings.smtp_host, settings.smtp_port, settings.smtp_tls, name, settings.smtp_user, password)
