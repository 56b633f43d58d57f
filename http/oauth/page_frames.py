"""The frame of each page: a header and a footer, which depend on the session cookie.

The header for a user has the user's name, the link to the settings and the form that signs out. For visitors it has
the link to the sign-in. A page that a shared cache may store has `Vary: Cookie`, and a page with a user's header is
`private` (`web/layout.py`).

Pages of the sign-in for an app, and refusals that must be cheap, have a frame with only the server's name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote, urlencode

from ...storage.engine.database import StorageError
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import Malformed
from ..intake.request import Request
from ..pages import templates
from ..pages.templates import SIGN_IN, PageFrame
from . import sessions
from .redirects import with_query

# The parameters that select the content of a page. Others are not repeated, because they may be tokens.
KEPT = frozenset({"max_id", "min_id", "uri", "address", "title", "text", "url"})
# A path of this server with its query, for the redirect after a sign-in. It may not begin with two slashes or have a
# backslash, because browsers take these for URLs of other sites. It may not be a page of a sign-in, and may not have
# segments of dots, which could hide the path of such a page.
OWN_PAGE = re.compile(
    r"/(?!/|auth/|oauth/|api/|(?:[^?]*/)?(?:\.|%2[eE]){1,2}(?:[/?]|$))[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]{0,2000}"
)


async def frame_of(context: HttpContext, request: Request) -> PageFrame:
    """Return the frame of a page, for the user who is signed in or for a visitor.

    If the database fails, the frame has no links.
    """
    secret = sessions.secret_of(request)
    try:
        user = await sessions.user_of(context, secret)
    except StorageError:
        return bare_frame(context, request)
    return await frame_for(context, request, user, secret)


async def frame_for(context: HttpContext, request: Request, user: User | None, secret: str | None) -> PageFrame:
    """Return the frame for a user with this session, or for a visitor."""
    settings = context.settings
    return PageFrame(
        title=settings.title,
        domain=settings.local_domain,
        base_url=settings.base_url,
        sign_ups=context.sign_ups.rule != "closed",
        now=context.clock.now(),
        path=request.path,
        terms=bool((await context.operator_texts.current()).terms),
        sign_in=sign_in_from(request),
        user=user,
        form_token="" if user is None or secret is None else sessions.form_token(secret),
    )


def bare_frame(context: HttpContext, request: Request) -> PageFrame:
    """Return a frame without links. It does not query the database."""
    settings = context.settings
    return PageFrame(
        settings.title, settings.local_domain, settings.base_url, False, context.clock.now(), request.path, links=False
    )  # fmt: skip


def sign_in_from(request: Request) -> str:
    """Return the path of the sign-in page. It redirects back to the page of a request, if that is an `OWN_PAGE`."""
    try:
        query = urlencode([(name, text) for name, text in request.query_texts if name in KEPT])
    except Malformed:  # this is an error page for an unreadable query
        return SIGN_IN
    here = quote(request.path, safe="/@:") + (f"?{query}" if query else "")
    is_page = request.method in ("GET", "HEAD") and OWN_PAGE.fullmatch(here) is not None
    return with_query(SIGN_IN, to=here) if is_page else SIGN_IN


async def framed_page(
    context: HttpContext, request: Request, template: str, *, status: int = 200, **facts: object
) -> Answer:
    """Return a page with the frame of the signed-in user, or of a visitor."""
    return templates.page(
        template, await frame_of(context, request), status=status, form_targets="", framed=False, **facts
    )


async def form_page(
    context: HttpContext, request: Request, template: str, *, status: int = 200, **facts: object
) -> Answer:
    """Return a page with a form for visitors. Its form token needs a session, so the answer sets a session cookie."""
    secret = sessions.secret_of(request)
    fresh = secret or context.secret()
    made = await framed_page(context, request, template, status=status, form_token=sessions.form_token(fresh), **facts)
    return made if secret else sessions.with_cookie(context, made, fresh)


async def error_page(context: HttpContext, request: Request, answer: Answer) -> Answer:
    """Return the page for an error. Pages for 429 and 5xx do not query the database."""
    frame = bare_frame(context, request)
    if 400 <= answer.status < 500 and answer.status != 429:
        # The sign-in does not lead back to the missing page, so that a hidden post looks like a missing post.
        frame = replace(await frame_of(context, request), sign_in=SIGN_IN)
    return templates.error_page(answer, frame)
