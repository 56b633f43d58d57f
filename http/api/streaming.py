"""The ordinary endpoint of the streaming API. The streams are in `http/streaming/`."""

from __future__ import annotations

from ..answers.answer import OK, Answer
from ..router import api


@api.get("/api/v1/streaming/health", returns="text", without_memory=True)
def show_health() -> Answer:
    """Show that the streaming server can be reached."""
    return OK
