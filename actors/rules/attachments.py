"""The media that a status can have. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...storage.media import Media
from .limits import STATUS_MEDIA

ALONE = frozenset({"video", "audio", "gifv"})  # a status with a medium of these kinds can have no other medium

BESIDE_A_QUOTE = "A post with a quote can't have media or a poll"


def complaint(
    asked: Sequence[int], found: Mapping[int, Media], account_id: int, status_id: int | None = None
) -> str | None:
    """Return the reason why these media can't be attached to a status of this account, or None.

    `status_id` may have them already.
    """
    if len(asked) > STATUS_MEDIA:
        return f"Cannot attach more than {STATUS_MEDIA} files"
    if unusable := [str(id) for id in asked if not _usable(found.get(id), account_id, status_id)]:
        return not_found(unusable)
    media = [found[id] for id in asked]
    if len(media) > 1 and any(medium.type in ALONE for medium in media):
        return "Cannot attach a video to a post that already contains images"
    if lost := [medium for medium in media if medium.state == "failed"]:
        return failure(lost[0])
    if any(medium.state != "ready" for medium in media):
        return "Cannot attach files that have not finished processing. Try again in a moment!"
    return None


def failure(medium: Media) -> str:
    """Return the error of a failed upload, with the reason if its owner may see it.

    It is no error that goes away: apps send a post again for media that are not finished.
    """
    return "Error processing thumbnail for uploaded media" + (f": {medium.failure}" if medium.failure else "")


def not_found(ids: Iterable[str]) -> str:
    """Return the refusal for ids that are no media, not this account's, or already attached."""
    return f"Media {', '.join(ids)} not found or already attached to another post"


def _usable(media: Media | None, account_id: int, status_id: int | None) -> bool:
    if media is None or media.account_id != account_id:
        return False
    return not media.taken or (media.status_id is not None and media.status_id == status_id)
