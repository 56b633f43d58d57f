"""The web pages: templates with autoescape, and style sheets. Pages for staff have one script, all others none."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from ..answers.answer import Answer
from ..answers.headers import page_policy

if TYPE_CHECKING:
    import jinja2

FOLDER = Path(__file__).parent
HTML = "text/html; charset=utf-8"
NOT_HERE = "No page has this address. What was here may be deleted, or may not be public."

TITLES = {
    400: "That did not work",
    401: "For members of this server",
    403: "Not allowed",
    404: "There is nothing here",
    405: "There is nothing here",
    410: "This is gone",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "Please try again in a moment",
}

# The API's short texts, in the words of a page.
TEXTS = {
    "Record not found": NOT_HERE,
    "Not Found": NOT_HERE,
    "This method requires an authenticated user": (
        "This server shows its timelines to its own members only. Sign in with an app to read them."
    ),
    "Gone": "The account behind this address was deleted or suspended. Nothing of it is shown any more.",
}


@cache
def _templates() -> jinja2.Environment:
    import jinja2  # late: only pages need it

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, *, status: int = 200, form_targets: str = "", framed: bool = False, **facts: object) -> Answer:
    """Return a rendered page with its content security policy."""
    return Answer(rendered(template, **facts), status, page_policy(form_targets, framed=framed), HTML)


def live_page(template: str, *, status: int = 200, **facts: object) -> Answer:
    """Return a rendered page that may run the script of this server."""
    return Answer(rendered(template, **facts), status, page_policy(live=True), HTML)


def rendered(template: str, **facts: object) -> bytes:
    """Return a page, or a part of one."""
    return _templates().get_template(template).render(style_path=style_path(), path_of=asset_path, **facts).encode()


def error_page(answer: Answer) -> Answer:
    """Return the page for an API error, with the same status and headers."""
    text = orjson.loads(answer.body)["error"]
    title = TITLES.get(answer.status, "That did not work")
    template = "missing.html" if answer.status in (404, 410) else "error.html"
    made = page(template, status=answer.status, title=title, text=TEXTS.get(text, text))
    return Answer(made.body, made.status, (*answer.headers, *made.headers), made.content_type)


@cache
def asset(name: str) -> bytes:
    """Return a style sheet or a script."""
    return (FOLDER / name).read_bytes()


@cache
def asset_path(name: str) -> str:
    """Return the address of a style sheet or a script, which is another one after each change."""
    return f"/{name}?v={sha256(asset(name)).hexdigest()[:12]}"


def style_path() -> str:
    """Return the address of the style sheet of all pages."""
    return asset_path("style.css")
