"""Pages for staff: their permission, their forms, and the links of their lists.

    BLOCKED = StaffPage("/admin/emails", Permission.MANAGE_BLOCKS, {"unblocked": "The block is ended."})

    @BLOCKED.get("emails.html")
    async def show(me: StaffMember, wanted: ListQuery) -> Facts: ...

    @BLOCKED.post("/<id>/unblock")
    async def unblock(me: StaffMember, id: int, posted: StaffForm) -> str: ...

`show` returns the variables of the template. `unblock` executes the action of a form and returns `unblocked`, the name
of a notice; the browser is redirected to the page, which shows the notice. If it raises a refusal, the page shows the
text of the refusal.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar
from urllib.parse import urlencode

from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.paging import CURSORS, Paged
from ..intake.parameters import Input, Text
from ..intake.request import LARGEST_BODY, Request
from ..pages.templates import rendered
from ..router import Function, api
from ..settings.signed_in import SettingsForm
from .live import live
from .member import StaffMember, Unconfirmed, admitting, sentence_of, staff_member, staff_sender

R = TypeVar("R")

ON_A_PAGE = 40

Facts = dict[str, Any]  # the variables of a template; `Any`, because each template has its own

# Functions of pages. Their first parameter is the member of staff, the others are parameters of an endpoint.
Show = TypeVar("Show", bound=Callable[..., Coroutine[object, object, "Facts | Answer"]])
Act = TypeVar("Act", bound=Callable[..., Coroutine[object, object, "str | Answer"]])


class Done(Input):
    """The name of the notice after an action."""

    done: Text = ""


class ListQuery(Paged, Done):
    """The parameters of a list: cursors, limit and notice."""


class StaffPage:
    """A page under `/admin`. `done` has the notices by the names that its actions return."""

    def __init__(self, path: str, permission: Permission, done: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._permission = permission
        self._done = done or {}
        self._template = ""
        self._show: Callable[..., Coroutine[object, object, Facts | Answer]]
        self._shown: dict[str, inspect.Parameter] = {}  # the parameters of `_show`

    def get(self, template: str, part: str | None = None) -> Callable[[Show], Show]:
        """Declare the function that returns the variables of a template, or another answer.

        `part` is the template of a part of the page. `{path}/live` sends it again whenever it changes.
        """

        def declare(show: Show) -> Show:
            self._template, self._show, self._shown = template, show, _own_parameters(show)

            async def answer(context: HttpContext, request: Request, **taken: object) -> Answer:
                me = await staff_member(context, request, self._permission)
                after = next((value for value in taken.values() if isinstance(value, Done)), None)
                words = {} if after is None else {"done": self._done.get(after.done)}
                return await self._page(me, taken, words)

            async def keep_current(context: HttpContext, request: Request, **taken: object) -> Answer:
                me = await staff_member(context, request, self._permission)

                async def render() -> bytes:
                    facts = await show(me, **taken)
                    if isinstance(facts, Answer):
                        raise TypeError(f"{part}: a page with a live part returns no other answers")
                    return rendered(f"staff/{part}", **facts)

                return live(me, self._permission, render)

            admit = admitting(self._permission)
            api.get(self._path, page=True, admit=admit)(_taking(show, answer))
            if part is not None:
                api.get(f"{self._path}/live", page=True, admit=admit)(_taking(show, keep_current))
            return show

        return declare

    def post(
        self,
        below: str = "",
        *,
        permission: Permission | None = None,
        typed: str | None = None,
        again: Callable[..., Input] | None = None,
        body_limit: int = LARGEST_BODY,
    ) -> Callable[[Act], Act]:
        """Declare a function that executes the action of a form. `below` is appended to the path of the page.

        It returns the name of a notice, or another answer. After a refusal the template has the form as the variable
        `typed`, and the segments of the path by their names. The query of the page has its defaults then, or is what
        `again` returns for the form. `permission` replaces the permission of the page.
        """

        needed = permission or self._permission

        def declare(do: Act) -> Act:
            async def answer(context: HttpContext, request: Request, **taken: object) -> Answer:
                posted = next(value for value in taken.values() if isinstance(value, SettingsForm))
                me = await staff_sender(context, request, posted, needed)
                try:
                    done = await do(me, **taken)
                except Unconfirmed as asking:
                    return asking.page
                except (HttpError, Refused) as error:
                    if isinstance(error, HttpError) and error.headers:
                        raise  # it has a Retry-After or limits, as after many wrong passwords
                    facts: Facts = {"problem": sentence_of(error)}
                    if typed is not None:
                        facts |= {name: value for name, value in taken.items() if value is not posted}
                        facts[typed] = posted
                    query = None if again is None else again(posted)
                    return await self._page(me, taken, facts, query)
                return done if isinstance(done, Answer) else self.after(done, **taken)

            api.post(self._path + below, page=True, body_limit=body_limit, admit=admitting(needed))(_taking(do, answer))
            return do

        return declare

    def after(self, done: str, **segments: object) -> Answer:
        """Return the redirect to the page with a notice."""
        path = self._path
        for name, value in segments.items():
            path = path.replace(f"<{name}>", str(value))
        return led_back(path, done)

    async def _page(
        self, me: StaffMember, taken: Mapping[str, object], facts: Facts, query: Input | None = None
    ) -> Answer:
        """Return the page. After a form, its query is `query`, or has its defaults."""
        wanted = {
            name: taken[name] if name in taken else query or parameter.annotation()
            for name, parameter in self._shown.items()
        }
        shown = await self._show(me, **wanted)
        return shown if isinstance(shown, Answer) else me.page(self._template, **(shown | facts))


def led_back(path: str, done: str) -> Answer:
    """Return the redirect to a page with a notice."""
    return redirect(f"{path}?{urlencode({'done': done})}")


def _own_parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a page's function, without the first, which is the member of staff."""
    _, *own = inspect.signature(function, eval_str=True).parameters.items()
    return dict(own)


def _taking(function: Callable[..., object], answer: Function) -> Function:
    """Return an endpoint with the parameters, the name and the module of a page's function."""
    asked = list(inspect.signature(answer, eval_str=True).parameters.values())[:2]
    endpoint = wraps(function)(answer)
    signature = inspect.Signature([*asked, *_own_parameters(function).values()])
    setattr(endpoint, "__signature__", signature)  # noqa: B010  # no attribute of functions, as types have it
    return endpoint


# Lists ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageLinks:
    """The links to newer and older entries; None without such entries."""

    newer: str | None
    older: str | None


async def listed(
    me: StaffMember,
    wanted: Paged,
    find: Callable[..., Awaitable[Sequence[R]]],
    *filters: object,
    id_of: Callable[[R], int] = attrgetter("id"),
) -> tuple[Sequence[R], PageLinks]:
    """Return the rows of a page, newest first, and its links. `find` takes the connection, the filters, the page."""
    page = wanted.page(ON_A_PAGE)
    rows = await me.context.database.read(find, *filters, page)
    return rows, page_links(me.request, page, [id_of(row) for row in rows])


def page_links(request: Request, page: Page, ids: Sequence[int]) -> PageLinks:
    """Return the links of a page with these ids, newest first. The filters of the request are repeated."""
    full = len(ids) == page.limit
    older = bool(ids) and (full or page.min_id is not None)
    newer = bool(ids) and (page.max_id is not None or (page.min_id is not None and full))
    return PageLinks(
        _address(request, "min_id", max(ids)) if newer else None,
        _address(request, "max_id", min(ids)) if older else None,
    )


def _address(request: Request, cursor: str, id: int) -> str:
    kept = [(name, value) for name, value in request.query_texts if name not in CURSORS and name != "done"]
    return f"{request.path}?{urlencode([*kept, (cursor, str(id))])}"
