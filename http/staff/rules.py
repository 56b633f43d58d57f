"""The pages of the rules of the server: added, changed, translated, removed."""

from __future__ import annotations

import re
from typing import Any

from ...actors.policy_changes import add_rule, change_rule, remove_rule, version_of
from ...actors.rules.roles import Permission
from ...storage.policies import HINT_CHARACTERS, RULE_CHARACTERS, RuleText
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import Prose, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import DangerousForm, Question, StaffMember, staff_member, staff_sender
from .texts import TextChangeForm, attempt_change, files_of

PERMISSION = Permission.MANAGE_RULES
PATH = "/admin/rules"
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
DONE = {"added": "The rule was added.", "changed": "The rule was changed.", "removed": "The rule was removed."}


class RuleForm(TextChangeForm):
    text: Prose = ""
    hint: Prose = ""
    language: Text = ""  # of the translation; empty for the original


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, after: Done) -> Answer:
    """Show the rules in their order, and the form that adds one."""
    return await _page(await staff_member(context, request, PERMISSION), done=words_of(after, DONE))


@api.post(PATH, page=True)
async def add(context: HttpContext, request: Request, posted: RuleForm) -> Answer:
    """Add a rule behind the others."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await attempt_change(me, add_rule, RuleText(posted.text, posted.hint))
    if problem is not None:
        return await _page(me, problem=problem, typed=posted)
    return redirect(with_done(PATH, "added"))


@api.get(f"{PATH}/<id>", page=True)
async def show_one(context: HttpContext, request: Request, id: int, after: Done) -> Answer:
    """Show a rule with its translations, and the forms that change them."""
    return await _page_of(await staff_member(context, request, PERMISSION), id, done=words_of(after, DONE))


@api.post(f"{PATH}/<id>", page=True)
async def change(context: HttpContext, request: Request, id: int, posted: RuleForm) -> Answer:
    """Change a rule, or a translation of it. An empty translation is removed."""
    me = await staff_sender(context, request, posted, PERMISSION)
    language = posted.language.strip() or None
    if language is not None and not LANGUAGE.fullmatch(language):
        return await _page_of(me, id, problem="Name a language by its code, such as de or pt-BR.", typed=posted)
    problem = await attempt_change(me, change_rule, id, posted.text, posted.hint, language, read=posted.opened or None)
    if problem is not None:
        return await _page_of(me, id, problem=problem, typed=posted)
    return redirect(with_done(f"{PATH}/{id}", "changed"))


@api.post(f"{PATH}/<id>/remove", page=True)
async def remove(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Remove a rule."""
    me = await staff_sender(context, request, posted, PERMISSION)
    warning = "Reports that name the rule show it no more. Its number is not used again."
    question = Question(f"Remove rule {id}", warning, "Remove", f"{PATH}/{id}")
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    problem = await attempt_change(me, remove_rule, id)
    return redirect(with_done(PATH, "removed")) if problem is None else await _page_of(me, id, problem=problem)


# `Any`: facts of a template.
async def _page_of(me: StaffMember, id: int, *, typed: RuleForm | None = None, **facts: Any) -> Answer:
    files, trouble = await files_of(me.context)
    rule = next((one for one in files.rules if one.id == id), None)
    if rule is None:
        raise NotFound
    return me.page(
        "rule.html", trouble=trouble, rule=rule, typed=typed or RuleForm(), version_of=version_of,
        most_text=RULE_CHARACTERS, most_hint=HINT_CHARACTERS, **facts,
    )  # fmt: skip


# `Any`: facts of a template.
async def _page(me: StaffMember, *, typed: RuleForm | None = None, **facts: Any) -> Answer:
    files, trouble = await files_of(me.context)
    return me.page(
        "rules.html", trouble=trouble, rules=files.rules,
        typed=typed or RuleForm(), most_text=RULE_CHARACTERS, most_hint=HINT_CHARACTERS, **facts,
    )  # fmt: skip
