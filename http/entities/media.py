"""MediaAttachment, and the URLs of files."""

from __future__ import annotations

from ...actors.activitypub.uris import maybe_web_address
from ...actors.federation.remote_files import digest_of
from ...storage.federation.remote_files import Kind
from ...storage.media import Media


def media_fields(media: Media, base_url: str) -> dict[str, object]:
    """Return an attachment. It has no URL until it is processed."""
    url = file_address(media.file, base_url)
    if url is None and media.remote_url is not None:
        url = remote_file_address("attachment", media.id, media.remote_url, base_url)
    preview = file_address(media.thumbnail_file, base_url) or _remote_preview(media, base_url)
    return {
        "id": str(media.id),
        "type": media.type,
        "url": url,
        "preview_url": preview or (url if media.type == "image" else None),
        "remote_url": maybe_web_address(media.remote_url),
        "preview_remote_url": maybe_web_address(media.thumbnail_remote_url),
        "text_url": None,
        "meta": media.meta,
        "description": media.description or None,
        "blurhash": media.blurhash,
    }


def _remote_preview(media: Media, base_url: str) -> str | None:
    if media.thumbnail_remote_url is not None:
        return remote_file_address("preview", media.id, media.thumbnail_remote_url, base_url, small=True)
    if media.remote_url is not None and media.type in ("image", "video"):
        return remote_file_address("attachment", media.id, media.remote_url, base_url, small=True)
    return None


def file_address(name: str | None, base_url: str) -> str | None:
    """Return the URL of a file in the media folder."""
    return None if name is None else f"{base_url}/media/{name}"


def remote_file_address(kind: Kind, id: int, url: str, base_url: str, *, small: bool = False) -> str:
    """Return the URL at which this server proxies a file of another server. It changes with the file's own URL."""
    return f"{base_url}/media_proxy/{kind}/{id}/{digest_of(url)}{'/small' if small else ''}"
