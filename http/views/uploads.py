"""Uploads of media, avatars, headers and emoji: from a file in a request to processed files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

from ...actors.media.jobs import FileRefused as NoSuchFile
from ...actors.media.jobs import Task
from ...actors.media.kinds import EMOJIS, IMAGES
from ...actors.media.process import ProcessingFailed
from ...actors.media.processor import MOST_IN_HAND, Incoming, TooManyUploads
from ...actors.rules import limits
from ...storage.media import ProcessedMedia
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.errors import HttpError, TooMany, Unprocessable, invalid
from ..intake.decoding import Upload

# Bytes that a request may have beside its files.
AROUND = 1024 * 1024
PICTURE_BODY = 2 * limits.PICTURE_BYTES + AROUND  # an avatar and a header
EMOJI_BODY = limits.EMOJI_BYTES + AROUND
THUMBNAIL_BODY = limits.IMAGE_BYTES + AROUND
MEDIA_BODY = limits.VIDEO_BYTES + limits.IMAGE_BYTES + AROUND  # a video and its thumbnail

BROKEN = "Error processing thumbnail for uploaded media"
SIZES = {"avatar": (400, 400), "header": (1500, 500)}


class NotProcessed(HttpError):
    """500: the file may be valid, but processing failed."""

    status = 500


@asynccontextmanager
async def received(
    context: HttpContext, account_id: int, upload: Upload | None, attribute: str = "File"
) -> AsyncGenerator[Incoming]:
    """Yield the upload with its kind. Raises 422 if its kind is not accepted, or if it is too large for its kind."""
    if upload is None or upload.size == 0:
        raise invalid(f"{attribute} can't be blank")
    with upload.file:
        try:
            async with context.media.receive(account_id, upload.file, upload.size) as incoming:
                _check(context, incoming, attribute)
                yield incoming
        except TooManyUploads:
            text = f"At most {MOST_IN_HAND} uploads can be processed at once. Try again in a moment!"
            raise TooMany(text=text) from None


def _check(context: HttpContext, incoming: Incoming, attribute: str) -> None:
    kind = incoming.kind
    if kind is None or (kind.type != "image" and not context.media.takes_films):
        raise wrong_type(attribute)
    limit = limits.IMAGE_BYTES if kind.type == "image" else limits.VIDEO_BYTES
    if incoming.size > limit:
        raise too_large(attribute, limit)


@asynccontextmanager
async def picture(
    context: HttpContext, viewer: Viewer, upload: Upload, which: Literal["avatar", "header"]
) -> AsyncGenerator[str]:
    """Yield the file name of a profile's picture. Store it in the block: if the block fails, the file is deleted."""
    attribute = which.capitalize()
    if upload.size > limits.PICTURE_BYTES:
        raise too_large(attribute, limits.PICTURE_BYTES)
    async with received(context, viewer.account_id, upload, attribute) as incoming:
        if incoming.kind not in IMAGES:
            raise wrong_type(attribute)
        width, height = SIZES[which]
        yield (await make(context, incoming, "picture", width=width, height=height)).file


@asynccontextmanager
async def emoji(context: HttpContext, account_id: int, upload: Upload | None) -> AsyncGenerator[ProcessedMedia]:
    """Yield the picture of a custom emoji. Store it in the block: if the block fails, the file is deleted."""
    if upload is not None and upload.size > limits.EMOJI_BYTES:
        raise invalid(f"Image must be less than {limits.EMOJI_BYTES // 1024} KB")
    async with received(context, account_id, upload, "Image") as incoming:
        if incoming.kind not in EMOJIS:
            raise wrong_type("Image")
        yield await make(context, incoming, "emoji")


@asynccontextmanager
async def thumbnail(
    context: HttpContext, viewer: Viewer, upload: Upload | None
) -> AsyncGenerator[ProcessedMedia | None]:
    """Yield the thumbnail that a client has sent; None without a thumbnail."""
    if upload is None:
        yield None
        return
    async with received(context, viewer.account_id, upload, "Thumbnail") as incoming:
        if incoming.kind not in IMAGES:
            raise wrong_type("Thumbnail")
        yield await make(context, incoming, "thumbnail")


async def exchange_thumbnail(context: HttpContext, made: ProcessedMedia, small: ProcessedMedia) -> ProcessedMedia:
    """Return the processed media with the client's thumbnail in place of the generated thumbnail."""
    if made.thumbnail_file is not None:
        await context.media.remove([made.thumbnail_file])
    meta = made.meta | small.meta
    return replace(made, thumbnail_file=small.thumbnail_file, blurhash=small.blurhash, meta=meta)


async def make(context: HttpContext, incoming: Incoming, task: Task, **more: int) -> ProcessedMedia:
    """Make files of an upload, in a separate process."""
    try:
        return await context.media.make(incoming, task, **more)
    except NoSuchFile as refusal:
        raise Unprocessable(str(refusal)) from None
    except ProcessingFailed:
        raise NotProcessed(BROKEN) from None


def wrong_type(attribute: str) -> Unprocessable:
    return invalid(f"{attribute} content type is invalid", f"{attribute} is invalid")


def too_large(attribute: str, limit: int) -> Unprocessable:
    return invalid(f"{attribute} must be less than {limit // limits.MIB} MB")
