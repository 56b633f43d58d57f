"""The frame and the cache headers of public pages.

The content is the content for visitors, and equal for all viewers. The header of the page is not: it has the name of
the signed-in user. So a shared cache may only store a visitor's page, for requests with equal cookies (`Vary: Cookie`).
It revalidates the page before each use (`no-cache`), so that a deleted status is not shown, and "3 minutes ago" is
true. The page of a user is `private`: only the browser may store it, and it revalidates the page too.
"""

from __future__ import annotations

from dataclasses import replace

from ...actors.activitypub.vocabulary import CONTENT_TYPE
from ..access.context import HttpContext
from ..answers.answer import Answer, varied
from ..answers.entity_tags import tagged
from ..intake.request import Request
from ..oauth.page_frames import bare_frame, frame_of
from ..pages.templates import page
from .heads import Head

REVALIDATED = ("Cache-Control", "no-cache")
REVALIDATED_PRIVATE = ("Cache-Control", "private, no-cache")


async def public_page(
    context: HttpContext, request: Request, template: str, *, framed: bool = False, **facts: object
) -> Answer:
    """Return a page, or a 304 if the browser has it. A page for frames on other sites (`framed`) has no user."""
    if framed:
        return cacheable(
            page(template, bare_frame(context, request), status=200, form_targets="", framed=True, **facts), request
        )
    frame = await frame_of(context, request)
    made = varied(page(template, frame, status=200, form_targets="", framed=False, **facts), "Cookie")
    head = facts.get("head")
    if isinstance(head, Head) and head.document:
        # For programs that read no HTML, or ask for the headers alone.
        link = f'<{head.document}>; rel="alternate"; type="{CONTENT_TYPE}"'
        made = replace(made, headers=(*made.headers, ("Link", link)))
    return cacheable(made, request, private=frame.user is not None)


def cacheable(answer: Answer, request: Request, *, private: bool = False) -> Answer:
    """Return an answer with its cache headers, or a 304 if the client has it already. `private`: it is a user's."""
    caching = REVALIDATED_PRIVATE if private else REVALIDATED
    answer = replace(answer, headers=(*answer.headers, caching))
    return tagged(answer, request.header(b"if-none-match"), request.header(b"if-modified-since"))
