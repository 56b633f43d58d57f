"""The media folder, with the store that the settings name."""

from __future__ import annotations

from ...actors.configuration import StorageSettings
from ...actors.rules.file_types import TYPES
from ...storage.files import Folder
from ...storage.media_stores import LocalStore, MediaStore, StoreName


def media_folder(settings: StorageSettings, node: str) -> Folder:
    """Return the media folder as a node uses it."""
    return Folder(settings.data / "media", node, media_store(settings, settings.media_store))


def media_store(settings: StorageSettings, name: StoreName) -> MediaStore:
    """Return a store, also a store that is not in use. Raises ValueError without its settings."""
    if name == "local":
        return LocalStore(settings.data / "media")
    if not (settings.s3_bucket and settings.s3_access_key and settings.s3_secret_key):
        raise ValueError("s3_bucket, s3_access_key or s3_secret_key is not set")
    # Late: 2 ms and 4.6 MiB, which only servers with a bucket need.
    from ...storage.buckets import BucketAccess, BucketStore

    return BucketStore(
        BucketAccess(
            settings.s3_endpoint, settings.s3_bucket, settings.s3_region, settings.s3_access_key,
            settings.s3_secret_key.get_secret_value(),
        ),
        _content_type,
    )  # fmt: skip


def _content_type(name: str) -> str:
    kind = TYPES.get(name.rpartition(".")[2])
    return kind[0] if kind else "application/octet-stream"
