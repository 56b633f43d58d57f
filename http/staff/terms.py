"""The page of the terms of service: published from a day on, changed and removed."""

from __future__ import annotations

from datetime import UTC, date

from ...actors.kernel import Refused
from ...actors.rules.documents import terms_on
from ...actors.rules.roles import Permission
from ...actors.staff.operator_texts import publish_terms, remove_terms, version_of
from ...storage.operator_texts import LARGEST_FILE
from ..intake.parameters import Flag, Text
from .member import DangerousForm, Question, StaffMember
from .staff_page import Done, Facts, StaffPage
from .texts import LARGEST_FORM, TextChangeForm, as_file, change_files, files_of

PATH = "/admin/terms"
NO_DAY = "Choose the day from which they are in force."
TERMS = StaffPage(
    PATH,
    Permission.MANAGE_SETTINGS,
    {
        "published": "The terms are published.",
        "changed": "The terms of this day were changed.",
        "removed": "The terms of this day were removed.",
    },
)


class TermsQuery(Done):
    """The day whose terms are in the form."""

    day: Text = ""


class TermsForm(TextChangeForm):
    day: Text = ""
    text: Text = ""
    change: Flag = False


class EndTermsForm(DangerousForm):
    day: Text = ""


@TERMS.get("terms.html")
async def show(me: StaffMember, wanted: TermsQuery) -> Facts:
    """Show the days of all terms, and the form that publishes or changes terms."""
    files, trouble = await files_of(me.context)
    texts = {effective: source.markdown for effective, source in files.terms}
    today = me.context.clock.now().astimezone(UTC).date()
    in_force, day = terms_on(today, list(texts)), _day(wanted.day)
    changed = day if day in texts else None
    return {
        "trouble": trouble,
        "terms": [
            (start, "in force" if start == in_force else "past" if start <= today else "future", len(text))
            for start, text in reversed(texts.items())
        ],
        "changed": changed,
        "version": version_of(texts[changed]) if changed else "",
        "typed": TermsForm(day="" if changed is None else str(changed), text=texts[changed] if changed else ""),
        "most": LARGEST_FILE,
    }


def _changed(posted: TermsForm) -> TermsQuery:
    return TermsQuery(day=posted.day if posted.change else "")


@TERMS.post(body_limit=LARGEST_FORM, typed="typed", again=_changed)
async def publish(me: StaffMember, posted: TermsForm) -> str:
    """Publish terms, or change the terms of a day."""
    day, text = _required(posted.day), as_file(posted.text)
    await change_files(me, publish_terms, day, text, change=posted.change, read=posted.opened or None)
    return "changed" if posted.change else "published"


@TERMS.post("/remove")
async def remove(me: StaffMember, posted: EndTermsForm) -> str:
    """Remove the terms of a day."""
    day = _required(posted.day)
    warning = "People can't read them any more. If they are in force, the earlier terms are in force again."
    await me.confirm(posted, Question(f"Remove the terms of {day}", warning, "Remove", PATH), [("day", str(day))])
    await change_files(me, remove_terms, day)
    return "removed"


def _required(written: str) -> date:
    day = _day(written)
    if day is None:
        raise Refused(422, NO_DAY)
    return day


def _day(written: str) -> date | None:
    try:
        return date.fromisoformat(written.strip())
    except ValueError:
        return None
