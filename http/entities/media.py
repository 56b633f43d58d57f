"""MediaAttachment."""

from __future__ import annotations

from ...storage.media import Media


def media_fields(media: Media, base_url: str) -> dict[str, object]:
    """Return an attachment. It has no address until it is processed."""
    url = _address(media.file, base_url) or media.remote_url
    preview = _address(media.thumbnail_file, base_url) or media.thumbnail_remote_url
    return {
        "id": str(media.id),
        "type": media.type,
        "url": url,
        "preview_url": preview or (url if media.type == "image" else None),
        "remote_url": media.remote_url,
        "preview_remote_url": media.thumbnail_remote_url,
        "text_url": None,
        "meta": media.meta,
        "description": media.description or None,
        "blurhash": media.blurhash,
    }


def _address(name: str | None, base_url: str) -> str | None:
    return None if name is None else f"{base_url}/media/{name}"
