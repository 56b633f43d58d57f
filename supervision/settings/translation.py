"""The translation service that the operator has named."""

from __future__ import annotations

from ...actors.configuration import ContentSettings
from ...actors.outgoing.client import OutgoingClient
from ...actors.outgoing.targets import named_target
from ...actors.translation.libretranslate import LibreTranslate


def translator_of(settings: ContentSettings) -> LibreTranslate | None:
    """Return the translation service of the settings. Its client connects to nothing else."""
    if settings.translation_url is None:
        return None
    client = OutgoingClient(settings.user_agent, named=named_target(settings.translation_url))
    key = settings.translation_key.get_secret_value() if settings.translation_key else None
    return LibreTranslate(client, settings.translation_url, key)
