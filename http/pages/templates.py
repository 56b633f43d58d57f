"""The web pages: templates with autoescape, style sheets, and the script of the pages for staff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

import orjson

from ... import __version__
from ...actors.rules.wording import plain, things_of
from ..answers.answer import Answer, page_policy
from .times import shown_time

if TYPE_CHECKING:
    import jinja2

    from ...storage.users import User

FOLDER = Path(__file__).parent
HTML = "text/html; charset=utf-8"
NOT_HERE = "No page has this address. What was here may be deleted, or may not be public."

SIGN_IN = "/auth/sign_in"

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

# Texts of the API's errors, as pages show them.
TEXTS = {
    "Record not found": NOT_HERE,
    "Not Found": NOT_HERE,
    "This method requires an authenticated user": (
        "This server shows its timelines to its own members only. Sign in with an app to read them."
    ),
    "Gone": "The account behind this address was deleted or suspended. Nothing of it is shown any more.",
}


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The variables of the header and the footer, and the time at which the page is made."""

    title: str
    domain: str
    base_url: str
    sign_ups: bool
    now: datetime
    path: str
    terms: bool = False
    links: bool = True
    sign_in: str = SIGN_IN  # the path of the sign-in page, which redirects back to this page
    user: User | None = None
    form_token: str = ""
    version: str = __version__

    @property
    def staff(self) -> bool:
        """True if the user may open pages for staff. Accounts that have moved may not."""
        return self.user is not None and self.user.role != "user" and not self.user.inactive


@cache
def _templates() -> jinja2.Environment:
    import jinja2  # late: 13 ms, 1.8 MiB, which only pages need

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # jinja2 does not annotate it, and the inferred type has only its default values.
    functions = cast("dict[str, object]", made.globals)
    functions |= {"grouped": "{:,}".format, "plain": plain, "shown_time": shown_time, "things_of": things_of}
    return made


def page(
    template: str, frame: PageFrame, *, status: int = 200, form_targets: str = "", framed: bool = False, **facts: object
) -> Answer:
    """Return a rendered page with its content security policy."""
    return Answer(rendered(template, frame=frame, **facts), status, page_policy(form_targets, framed=framed), HTML)


def live_page(template: str, frame: PageFrame, *, status: int = 200, **facts: object) -> Answer:
    """Return a rendered page that may run the script of this server."""
    return Answer(rendered(template, frame=frame, **facts), status, page_policy(live=True), HTML)


def rendered(template: str, **facts: object) -> bytes:
    """Return a rendered template: a page, or a part of a page."""
    return _templates().get_template(template).render(style_path=style_path(), path_of=asset_path, **facts).encode()


def error_page(answer: Answer, frame: PageFrame) -> Answer:
    """Return the page for an API error, with the same status and headers."""
    text = str(orjson.loads(answer.body)["error"]).removeprefix("Validation failed: ")
    title = TITLES.get(answer.status, "That did not work")
    template = "missing.html" if answer.status in (404, 410) else "error.html"
    made = page(template, frame, status=answer.status, title=title, text=TEXTS.get(text, text))
    return Answer(made.body, made.status, (*answer.headers, *made.headers), made.content_type)


@cache
def asset(name: str) -> bytes:
    """Return a style sheet or a script."""
    return (FOLDER / name).read_bytes()


@cache
def asset_path(name: str) -> str:
    """Return the path of a style sheet or a script. It changes with the content."""
    return f"/{name}?v={sha256(asset(name)).hexdigest()[:12]}"


def style_path() -> str:
    """Return the path of the style sheet of all pages."""
    return asset_path("style.css")
