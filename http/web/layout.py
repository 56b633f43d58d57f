"""The frame of public pages, and the headers that let browsers and caches keep them.

The content is what people see who are not signed in, and equal for all viewers. The header is not: it names the user
who is signed in. So a cache on the way may store a visitor's page alone, and only for requests with the same cookies
(`Vary: Cookie`). It asks before each use (`no-cache`): a deleted status must not be shown any more, and "3 minutes ago"
must be true. The page of a user is `private`: the user's own browser may store it, and asks as well.
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

ASK_FIRST = ("Cache-Control", "no-cache")
ASK_FIRST_AND_SHARE_WITH_NO_ONE = ("Cache-Control", "private, no-cache")


async def public_page(
    context: HttpContext, request: Request, template: str, *, framed: bool = False, **facts: object
) -> Answer:
    """Return a page, or a 304 if the browser has it already. One for frames on other sites knows no user."""
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
    caching = ASK_FIRST_AND_SHARE_WITH_NO_ONE if private else ASK_FIRST
    answer = replace(answer, headers=(*answer.headers, caching))
    return tagged(answer, request.header(b"if-none-match"), request.header(b"if-modified-since"))
