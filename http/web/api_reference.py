"""The page about the API: its endpoints and objects, from the OpenAPI document, for developers of clients."""

from __future__ import annotations

from functools import lru_cache

import trio

from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.request import Request
from ..openapi.document import document
from ..openapi.reference import reference
from ..pages.templates import rendered
from ..router import api
from .heads import Head
from .layout import public_page


@api.get("/api", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """The endpoints of this server by their nouns, and the objects of answers."""
    settings = context.settings
    head = Head("API", f"{settings.base_url}/api", f"The endpoints of {settings.title} for apps.")
    made = await trio.to_thread.run_sync(_reference, settings.base_url)  # in a thread: the first call is slow
    return await public_page(context, request, "api.html", head=head, reference_html=made)


@lru_cache(maxsize=1)
def _reference(base_url: str) -> str:
    """Return the part of the page that is equal for all viewers. It only changes with releases."""
    return rendered("api_reference.html", reference=reference(document(api.endpoints, base_url))).decode()
