"""Health, for operators and load balancers."""

from __future__ import annotations

from ...storage.engine.database import Unavailable
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..router import api


@api.get("/health")
def show_health() -> Answer:
    """Liveness: the process answers requests. It says nothing about the database."""
    return json({"status": "UP"})


@api.get("/ready")
async def show_readiness(context: HttpContext) -> Answer:
    """Readiness: the database answers too; else 503."""
    if not await context.readiness.check():
        raise Unavailable("the database does not answer")
    return json({"status": "UP"})
