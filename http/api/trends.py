"""Trends. A hashtag trends when staff allow it, and this server has no way yet to allow one: nothing does."""

from __future__ import annotations

from ..answers.answer import Answer, array
from ..router import api


@api.get("/api/v1/trends")
@api.get("/api/v1/trends/tags")
@api.get("/api/v1/trends/statuses")
@api.get("/api/v1/trends/links")
def show() -> Answer:
    return array([])
