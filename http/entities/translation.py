"""Translation: the texts of a status in another language."""

from __future__ import annotations

from ...actors.translation.translations import TranslatedStatus
from ...storage.statuses import Status


def translation_fields(status: Status, translated: TranslatedStatus) -> dict[str, object]:
    texts = translated.texts
    fields: dict[str, object] = {
        "content": texts.content,
        "spoiler_text": texts.spoiler,
        "language": translated.target,
        "media_attachments": [
            {"id": str(medium.id), "description": description}
            for medium, description in zip(status.media, texts.descriptions, strict=True)
            if description
        ],
        "detected_source_language": translated.source,
        "provider": translated.provider,
    }
    if status.poll is not None:
        fields["poll"] = {"id": str(status.poll.id), "options": [{"title": title} for title in texts.options]}
    return fields
