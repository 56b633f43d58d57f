"""Trends. A hashtag trends when staff allow it, which is not implemented yet, so the lists are empty."""

from __future__ import annotations

from ..answers.answer import Answer, array
from ..router import api


@api.get("/api/v1/trends")
@api.get("/api/v1/trends/tags")
@api.get("/api/v1/trends/statuses")
@api.get("/api/v1/trends/links")
def show() -> Answer:
    return array([])
