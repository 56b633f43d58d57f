"""Health, for operators and load balancers."""

from __future__ import annotations

from ..access.context import HttpContext
from ..access.operations import explained
from ..answers.answer import OK, Answer, json, varied
from ..answers.errors import NotReady
from ..intake.negotiation import asks_for_json
from ..intake.request import Request
from ..router import api


@api.get("/health", without_memory=True)
def show_health(context: HttpContext, request: Request) -> Answer:
    """Liveness, as in Mastodon: the text `OK`. A request that prefers JSON gets the answer of `/health/live`."""
    return varied(_liveness(context, request) if asks_for_json(request) else OK, "Accept")


@api.get("/health/live", without_memory=True)
def show_liveness(context: HttpContext, request: Request) -> Answer:
    """Liveness: the process answers requests. The database is not checked."""
    return _liveness(context, request)


@api.get("/health/ready", without_memory=True)
async def show_readiness(context: HttpContext) -> Answer:
    """Readiness: the server can do its work. If it can't, 503 with the obstacles."""
    if obstacles := await context.readiness.obstacles():
        raise NotReady(explained(obstacles), details={"obstacles": obstacles})
    return json({"status": "UP"})


def _liveness(context: HttpContext, request: Request) -> Answer:
    """Return the answer in JSON. For `troupe doctor` it includes how the request arrived."""
    seen = context.probe.seen(request, context.settings.trusted_proxies)
    return json({"status": "UP"} if seen is None else {"status": "UP", "seen": seen})
