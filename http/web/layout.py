"""The common parts of all public pages: the frame around them, and the headers that let browsers keep them.

The pages show what people see who are not signed in, to all viewers alike. So a cache on the way may store them, if it
asks before each use: a deleted status must not be shown any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ... import __version__
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.entity_tags import tagged
from ..intake.request import Request
from ..pages.templates import page

ASK_FIRST = ("Cache-Control", "no-cache")


@dataclass(frozen=True, slots=True)
class Site:
    """The facts about this server that the frame of each page shows."""

    title: str
    domain: str
    base_url: str
    sign_ups: bool
    terms: bool
    version: str = __version__


async def public_page(
    context: HttpContext, request: Request, template: str, *, framed: bool = False, **facts: object
) -> Answer:
    """Return a page, or a 304 if the browser has it already."""
    made = page(template, status=200, form_targets="", framed=framed, site=await _site(context), **facts)
    return cacheable(made, request)


def cacheable(answer: Answer, request: Request) -> Answer:
    """Return an answer that is equal for all viewers with its cache headers, or a 304 if the client has it already."""
    return tagged(replace(answer, headers=(*answer.headers, ASK_FIRST)), request.header(b"if-none-match"))


async def _site(context: HttpContext) -> Site:
    settings = context.settings
    terms = (await context.policies.current()).terms
    return Site(
        settings.title, settings.local_domain, settings.base_url, context.sign_ups.rule != "closed", terms=bool(terms)
    )
