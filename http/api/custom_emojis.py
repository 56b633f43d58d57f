"""Custom emoji: this server has none."""

from __future__ import annotations

from ..answer import Answer, array
from ..routing import api


@api.get("/api/v1/custom_emojis")
def show() -> Answer:
    return array([])
