"""A page that statuses link to, its card, and when that is there."""

from __future__ import annotations

from ..clients import Stage
from ..waiting import until_none

HEAD = """
    <title>Not this one</title>
    <meta property="og:title" content="Tea &amp; cake">
    <meta property="og:description" content="How to make both">
    <meta property="og:site_name" content="The kitchen">
    <meta name="author" content="Grace">
"""
CARD: dict[str, object] = {
    "title": "Tea & cake", "description": "How to make both", "language": None, "type": "link", "authors": [],
    "author_name": "Grace", "author_url": "", "provider_name": "The kitchen", "provider_url": "", "html": "",
    "width": 0, "height": 0, "image": None, "image_description": "", "embed_url": "", "blurhash": None,
    "published_at": None,
}  # fmt: skip


async def fetched(stage: Stage) -> None:
    """Wait until every link was looked at, and every status with a card is shown again."""
    await until_none(lambda: stage.rows("SELECT FROM outbox WHERE error IS NULL"))
