"""The page of the terms of service: published from a day on, changed, removed."""

from __future__ import annotations

from datetime import UTC, date
from typing import Any

from ...actors.policy_changes import publish_terms, remove_terms, version_of
from ...actors.rules.documents import terms_on
from ...actors.rules.roles import Permission
from ...storage.policies import LARGEST_FILE
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Flag, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import DangerousForm, Question, StaffMember, staff_member, staff_sender
from .texts import LARGEST_FORM, TextChangeForm, as_file, attempt_change, files_of

PERMISSION = Permission.MANAGE_SETTINGS
PATH = "/admin/terms"
NO_DAY = "Choose the day from which they are in force."
DONE = {
    "published": "The terms are published.",
    "changed": "The terms of this day were changed.",
    "removed": "The terms of this day were removed.",
}


class TermsQuery(Done):
    """The day whose terms are in the form."""

    day: Text = ""


class TermsForm(TextChangeForm):
    day: Text = ""
    text: Text = ""
    change: Flag = False


class EndTermsForm(DangerousForm):
    day: Text = ""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: TermsQuery) -> Answer:
    """Show the days of all terms, and the form that publishes or changes some."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, _day(wanted.day), done=words_of(wanted, DONE))


@api.post(PATH, page=True, body_limit=LARGEST_FORM)
async def publish(context: HttpContext, request: Request, posted: TermsForm) -> Answer:
    """Publish terms, or change those of a day."""
    me = await staff_sender(context, request, posted, PERMISSION)
    day = _day(posted.day)
    problem = NO_DAY
    if day is not None:
        problem = await attempt_change(
            me, publish_terms, day, as_file(posted.text), change=posted.change, read=posted.opened or None
        )
    if problem is not None:
        return await _page(me, day if posted.change else None, problem=problem, typed=posted)
    return redirect(with_done(PATH, "changed" if posted.change else "published"))


@api.post(f"{PATH}/remove", page=True)
async def remove(context: HttpContext, request: Request, posted: EndTermsForm) -> Answer:
    """Remove the terms of a day."""
    me = await staff_sender(context, request, posted, PERMISSION)
    day = _day(posted.day)
    if day is None:
        return await _page(me, None, problem=NO_DAY)
    warning = "People can't read them any more. If they are in force, those before them are again."
    question = Question(f"Remove the terms of {day}", warning, "Remove", PATH)
    if (asking := await me.confirmed(posted, question, [("day", str(day))])) is not None:
        return asking
    problem = await attempt_change(me, remove_terms, day)
    return redirect(with_done(PATH, "removed")) if problem is None else await _page(me, None, problem=problem)


def _day(written: str) -> date | None:
    try:
        return date.fromisoformat(written.strip())
    except ValueError:
        return None


# `Any`: facts of a template.
async def _page(me: StaffMember, day: date | None, *, typed: TermsForm | None = None, **facts: Any) -> Answer:
    files, trouble = await files_of(me.context)
    texts = {effective: source.markdown for effective, source in files.terms}
    today = me.context.clock.now().astimezone(UTC).date()
    in_force = terms_on(today, list(texts))
    changed = day if day in texts else None
    form = typed or TermsForm(day="" if changed is None else str(changed), text=texts[changed] if changed else "")
    return me.page(
        "terms.html",
        trouble=trouble,
        terms=[
            (one, "in force" if one == in_force else "past" if one <= today else "future", len(text))
            for one, text in reversed(texts.items())
        ],
        changed=changed,
        version=version_of(texts[changed]) if changed else "",
        typed=form,
        most=LARGEST_FILE,
        **facts,
    )
