"""The web pages: templates with autoescape, one style sheet, no scripts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import jinja2
import orjson

from ..answers.answer import Answer
from ..answers.headers import page_policy

FOLDER = Path(__file__).parent
HTML = "text/html; charset=utf-8"

TITLES = {
    400: "That did not work",
    403: "Not allowed",
    404: "There is nothing here",
    405: "There is nothing here",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "Please try again in a moment",
}


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(template: str, *, status: int = 200, form_targets: str = "", **facts: object) -> Answer:
    """Return a rendered page with its content security policy."""
    body = _templates().get_template(template).render(**facts)
    return Answer(body.encode(), status, page_policy(form_targets), HTML)


def error_page(answer: Answer) -> Answer:
    """Return the page for an API error, with the same status and headers."""
    text = orjson.loads(answer.body)["error"]
    made = page("error.html", status=answer.status, title=TITLES.get(answer.status, "That did not work"), text=text)
    return Answer(made.body, made.status, (*answer.headers, *made.headers), made.content_type)


@lru_cache(maxsize=1)
def style() -> Answer:
    """The style sheet of all pages."""
    return Answer((FOLDER / "style.css").read_bytes(), 200, (), "text/css; charset=utf-8")
