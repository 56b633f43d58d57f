"""The pages of the server's rules: added, changed, translated and removed."""

from __future__ import annotations

import re

from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...actors.staff.operator_texts import add_rule, change_rule, remove_rule, version_of
from ...storage.operator_texts import HINT_CHARACTERS, RULE_CHARACTERS, RuleText
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.parameters import Prose, Text
from .member import DangerousForm, Question, StaffMember
from .staff_page import Done, Facts, StaffPage
from .texts import TextChangeForm, change_files, files_of

PATH = "/admin/rules"
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
DONE = {"added": "The rule was added.", "changed": "The rule was changed.", "removed": "The rule was removed."}
MOST = {"most_text": RULE_CHARACTERS, "most_hint": HINT_CHARACTERS}
RULES = StaffPage(PATH, Permission.MANAGE_RULES, DONE)
RULE = StaffPage(f"{PATH}/<id>", Permission.MANAGE_RULES, DONE)


class RuleForm(TextChangeForm):
    text: Prose = ""
    hint: Prose = ""
    language: Text = ""  # of the translation; empty for the original


@RULES.get("rules.html")
async def show(me: StaffMember, after: Done) -> Facts:
    """Show the rules in their order, and the form that adds a rule."""
    files, trouble = await files_of(me.context)
    return {"trouble": trouble, "rules": files.rules, "typed": RuleForm(), **MOST}


@RULES.post(typed="typed")
async def add(me: StaffMember, posted: RuleForm) -> str:
    """Add a rule at the end."""
    await change_files(me, add_rule, RuleText(posted.text, posted.hint))
    return "added"


@RULE.get("rule.html")
async def show_one(me: StaffMember, id: int, after: Done) -> Facts:
    """Show a rule with its translations, and the forms that change them."""
    files, trouble = await files_of(me.context)
    rule = next((known for known in files.rules if known.id == id), None)
    if rule is None:
        raise NotFound
    return {"trouble": trouble, "rule": rule, "typed": RuleForm(), "version_of": version_of, **MOST}


@RULE.post(typed="typed")
async def change(me: StaffMember, id: int, posted: RuleForm) -> str:
    """Change a rule, or a translation of it. An empty translation is removed."""
    language = posted.language.strip() or None
    if language is not None and not LANGUAGE.fullmatch(language):
        raise Refused(422, "Name a language by its code, such as de or pt-BR.")
    await change_files(me, change_rule, id, posted.text, posted.hint, language, read=posted.opened or None)
    return "changed"


@RULE.post("/remove")
async def remove(me: StaffMember, id: int, posted: DangerousForm) -> Answer:
    """Remove a rule."""
    warning = "Reports that name the rule show it no more. Its number is not used again."
    await me.confirm(posted, Question(f"Remove rule {id}", warning, "Remove", f"{PATH}/{id}"))
    await change_files(me, remove_rule, id)
    return RULES.after("removed")
