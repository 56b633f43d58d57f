"""The pages about this server."""

from __future__ import annotations

from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.request import Request
from ..router import api
from .layout import public_page


@api.route("GET", path="/", page=True)
@api.route("GET", path="/about", page=True)
def show_about(context: HttpContext, request: Request) -> Answer:
    """The page for people who open the server in a browser."""
    settings = context.settings
    return public_page(
        context, request, "about.html", noindex=False, description=settings.description, email=settings.contact_email
    )
