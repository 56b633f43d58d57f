"""The files that the server makes of uploads."""

# By the ending of the name: the content type, and the possible types of media.
TYPES = {
    "jpg": ("image/jpeg", {"image"}),
    "png": ("image/png", {"image"}),
    "gif": ("image/gif", {"image"}),
    "webp": ("image/webp", {"image"}),
    "mp4": ("video/mp4", {"video", "gifv"}),
    "mp3": ("audio/mpeg", {"audio"}),
}
