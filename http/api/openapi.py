"""The OpenAPI document as an endpoint."""

from __future__ import annotations

from functools import lru_cache

import orjson
import trio

from ..access.context import HttpContext
from ..answers.answer import Answer
from ..openapi.document import document
from ..router import api


@api.get("/api/openapi.json", returns="object", without_memory=True)
async def show_document(context: HttpContext) -> Answer:
    """The OpenAPI 3.1 document of this server."""
    # The first call takes 100 ms, so it runs in a thread.
    return Answer(await trio.to_thread.run_sync(_body, context.settings.base_url))


@lru_cache(maxsize=1)
def _body(base_url: str) -> bytes:
    """Return the document, which only changes with releases."""
    return orjson.dumps(document(api.endpoints, base_url))
