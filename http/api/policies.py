"""Rules, privacy policy, terms and languages of this server."""

from __future__ import annotations

import html

from ..access.context import HttpContext
from ..answers.answer import Answer, array, json
from ..answers.errors import NotFound
from ..router import api

# This says what the software does with data. An operator who does more has to say so elsewhere.
PRIVACY = """
<p>This server keeps what you give it: your e-mail address, your password as a hash, your profile, your posts and what
you do with other people's posts. Public posts can be read by all people and may be copied by other servers; all other
posts are shown to the people you address.</p>
<p>Nothing of it is sold. The network addresses of visitors are held in memory, to limit how much one of them can ask
for; the one from which an account was made may be kept with it.</p>
<p>What you delete is not shown any more from that moment on.</p>
"""
PRIVACY_SINCE = "2026-11-21T00:00:00.000Z"


@api.get("/api/v1/instance/rules")
@api.get("/api/v1/instance/domain_blocks")
def show_none() -> Answer:
    """An empty list: there are no rules and no blocked servers."""
    return array([])


@api.get("/api/v1/instance/extended_description")
def show_description(context: HttpContext) -> Answer:
    """The operator's paragraph as HTML; an empty string when there is none."""
    description = html.escape(context.settings.description.strip())
    return json({"updated_at": None, "content": f"<p>{description}</p>" if description else ""})


@api.get("/api/v1/instance/privacy_policy")
def show_privacy() -> Answer:
    return json({"updated_at": PRIVACY_SINCE, "content": PRIVACY.strip()})


@api.get("/api/v1/instance/translation_languages")
def show_languages() -> Answer:
    """An empty object: this server translates no statuses."""
    return json({})


@api.get("/api/v1/instance/terms_of_service")
def show_terms() -> Answer:
    raise NotFound


@api.get("/api/v1/instance/terms_of_service/<date>")
def show_terms_of(date: str) -> Answer:
    raise NotFound
