"""Custom emoji: this server has none."""

from __future__ import annotations

from ..answers.answer import Answer, array
from ..router import api


@api.get("/api/v1/custom_emojis")
def show() -> Answer:
    return array([])
