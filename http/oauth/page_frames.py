"""The frame around the content of each page: a header and a footer, which know who is signed in.

The session cookie decides. With one that belongs to a user, the header has the user's name, the way to the settings
and the form that signs out; else it has the way to sign in. A page that a shared cache may store says `Vary: Cookie`,
and one with a user's header is `private` (`web/layout.py`).

Pages of the sign-in for an app, and refusals that must cost little, have a frame without links: only the server's name.
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

# The parameters without which a page is another one. No others are repeated: they may be tokens.
KEPT = frozenset({"max_id", "min_id", "uri", "address", "title", "text", "url"})
# A path of this server with its query, for the redirect after a sign-in. Nothing that begins with two slashes or has a
# backslash, which browsers take for the address of another site; none of the pages that sign people in, and no segments
# of dots, behind which one could hide.
OWN_PAGE = re.compile(
    r"/(?!/|auth/|oauth/|api/|(?:[^?]*/)?(?:\.|%2[eE]){1,2}(?:[/?]|$))[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]{0,2000}"
)


async def frame_of(context: HttpContext, request: Request) -> PageFrame:
    """Return the frame of a page, for the user who is signed in or for a visitor.

    While the database can't say which of them it is, the frame has no links.
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
        terms=bool((await context.policies.current()).terms),
        sign_in=sign_in_from(request),
        user=user,
        form_token="" if user is None or secret is None else sessions.form_token(secret),
    )


def bare_frame(context: HttpContext, request: Request) -> PageFrame:
    """Return a frame without links, which asks no database."""
    settings = context.settings
    return PageFrame(
        settings.title, settings.local_domain, settings.base_url, False, context.clock.now(), request.path, links=False
    )  # fmt: skip


def sign_in_from(request: Request) -> str:
    """Return the address of the sign-in page, which leads back to the page of a request if it may."""
    try:
        query = urlencode([(name, text) for name, text in request.query_texts if name in KEPT])
    except Malformed:  # the page of another error is made
        return SIGN_IN
    here = quote(request.path, safe="/@:") + (f"?{query}" if query else "")
    is_page = request.method in ("GET", "HEAD") and OWN_PAGE.fullmatch(here) is not None
    return with_query(SIGN_IN, to=here) if is_page else SIGN_IN


async def framed_page(
    context: HttpContext, request: Request, template: str, *, status: int = 200, **facts: object
) -> Answer:
    """Return a page with the frame of the user who is signed in, or of a visitor."""
    return templates.page(
        template, await frame_of(context, request), status=status, form_targets="", framed=False, **facts
    )


async def form_page(
    context: HttpContext, request: Request, template: str, *, status: int = 200, **facts: object
) -> Answer:
    """Return a page with a form for people without a sign-in. Its token needs a session, which the answer makes."""
    secret = sessions.secret_of(request)
    fresh = secret or context.secret()
    made = await framed_page(context, request, template, status=status, form_token=sessions.form_token(fresh), **facts)
    return made if secret else sessions.with_cookie(context, made, fresh)


async def error_page(context: HttpContext, request: Request, answer: Answer) -> Answer:
    """Return the page for an error of the API. Refusals that must cost little, and failures, ask no database."""
    frame = bare_frame(context, request)
    if 400 <= answer.status < 500 and answer.status != 429:
        # Without the way back to an address where nothing is. So a hidden post looks like one that never was.
        frame = replace(await frame_of(context, request), sign_in=SIGN_IN)
    return templates.error_page(answer, frame)
