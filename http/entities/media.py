"""MediaAttachment."""

from __future__ import annotations

from ...storage.media import Media


def media_fields(media: Media, base_url: str) -> dict[str, object]:
    """Return an attachment. It has no address until it is processed."""
    url = file_address(media.file, base_url) or media.remote_url
    preview = file_address(media.thumbnail_file, base_url) or media.thumbnail_remote_url
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


def file_address(name: str | None, base_url: str) -> str | None:
    """Return the address of a file of the media folder."""
    return None if name is None else f"{base_url}/media/{name}"
