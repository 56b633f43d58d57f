"""Acts of staff on the operator's texts: rules, terms of service, the description, the privacy policy.

The texts are files. Each act writes its file last in the transaction that has the entry of the audit log: if the file
can't be written, nothing is stored. An act that can't be done raises Refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Literal

from ...storage import audit_log, operator_texts, reports
from ...storage.engine import notices
from ...storage.engine.threads import in_thread
from ...storage.operator_texts import LARGEST_ID, Rule, RuleText, UnusableTexts, read_rules, read_terms, write_rules
from ..kernel import Refused
from ..memory.operator_texts import NOTICE
from ..rules.roles import Permission
from .acts import StaffAct, Target, needs

TextName = Literal["description", "privacy"]
# Takes the rules and the highest id that a rule ever had; returns the new rules and the changed rule.
Change = Callable[[Sequence[Rule], int], tuple[list[Rule], Rule]]

CHANGED_MEANWHILE = (
    "This text was changed after you opened the page, and your version is not stored. Open the page again in another"
    " window to see the stored version. To replace it by yours, send yours once more."
)


def version_of(*texts: str) -> str:
    """Return a short name of texts as they are. Other texts have other names."""
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


@needs(Permission.MANAGE_RULES)
async def add_rule(act: StaffAct, folder: Path, text: RuleText) -> int:
    """Add a rule behind the others. Return its id. Raises Refused."""

    def added(rules: Sequence[Rule], highest: int) -> tuple[list[Rule], Rule]:
        if highest >= LARGEST_ID:
            raise Refused(422, "No higher id is left for another rule.")
        new = Rule(highest + 1, _tidied(text))
        return [*rules, new], new

    return await _change_rules(act, folder, "add_rule", added)


@needs(Permission.MANAGE_RULES)
async def change_rule(
    act: StaffAct, folder: Path, id: int, text: str | None, hint: str | None, language: str | None,
    *, read: str | None = None,
) -> None:  # fmt: skip
    """Change the original of a rule or a translation. None leaves a text as it is.

    A translation is removed if both texts are empty. `read` is the version that was changed. Raises Refused.
    """

    def changed(rules: Sequence[Rule], _: int) -> tuple[list[Rule], Rule]:
        before = _named(rules, id)
        old = before.original if language is None else before.translations.get(language, RuleText(""))
        _check_version(read, old.text, old.hint)
        new = _tidied(RuleText(old.text if text is None else text, old.hint if hint is None else hint))
        if language is None:
            rule = replace(before, original=new)
        else:
            others = {code: other for code, other in before.translations.items() if code != language}
            rule = replace(before, translations=others if new == RuleText("") else {**others, language: new})
        return [rule if other.id == id else other for other in rules], rule

    await _change_rules(act, folder, "change_rule", changed)


def _tidied(text: RuleText) -> RuleText:
    """Return a rule without the ends of lines of Windows, and without the blank lines around pasted texts."""
    return RuleText(_unix(text.text), _unix(text.hint))


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n")


@needs(Permission.MANAGE_RULES)
async def remove_rule(act: StaffAct, folder: Path, id: int) -> None:
    """Remove a rule. Its id is not used again. Raises Refused."""
    await _change_rules(
        act, folder, "remove_rule",
        lambda rules, _: ([rule for rule in rules if rule.id != id], _named(rules, id)),
    )  # fmt: skip


@needs(Permission.MANAGE_SETTINGS)
async def publish_terms(
    act: StaffAct, folder: Path, effective: date, raw: bytes, *, change: bool, read: str | None = None
) -> None:
    """Publish terms of service from a day on, or change the terms of this day.

    `read` is the version that was changed. Raises Refused.
    """
    await _begin(act)
    with _reading():
        before = dict(await in_thread(read_terms, folder))
    exists = effective in before
    if exists and not change:
        raise Refused(409, f"There are terms of {effective} already.")
    _check_version(read, before[effective].markdown if exists else "")
    await act.log("replace_terms" if exists else "publish_terms", _terms(effective))
    with _writing(folder):
        await in_thread(operator_texts.write_terms, folder, effective, raw)


@needs(Permission.MANAGE_SETTINGS)
async def remove_terms(act: StaffAct, folder: Path, effective: date) -> None:
    """Remove the terms of service of a day. Raises Refused."""
    await _begin(act)
    await act.log("remove_terms", _terms(effective))
    with _writing(folder):
        if not await in_thread(operator_texts.remove_terms, folder, effective):
            raise Refused(404, f"There are no terms of {effective}.")


@needs(Permission.MANAGE_SETTINGS)
async def write_text(act: StaffAct, folder: Path, name: TextName, raw: bytes, *, read: str | None = None) -> None:
    """Write the description or the privacy policy; empty, it is removed.

    `read` is the version that was changed. Raises Refused.
    """
    await _begin(act)
    with _reading():
        before = await in_thread(operator_texts.find_text, folder, f"{name}.md")
    _check_version(read, before.markdown if before else "")
    await act.log("change_text", Target("text", None, name))
    with _writing(folder):
        await in_thread(operator_texts.write_text, folder, f"{name}.md", raw)


async def _change_rules(act: StaffAct, folder: Path, action: str, wanted: Change) -> int:
    await _begin(act)
    with _reading():
        rules = await in_thread(read_rules, folder)
    used = await audit_log.highest_target(act.db, "rule"), await reports.highest_rule(act.db)
    changed, rule = wanted(rules, max(*used, *(rule.id for rule in rules)))
    await act.log(action, Target("rule", rule.id, str(rule.id)), "", text=rule.original.text)
    with _writing(folder):
        await in_thread(write_rules, folder, changed)
    return rule.id


async def _begin(act: StaffAct) -> None:
    """Wait for other changes of the texts, and have all servers read them again after the commit."""
    await operator_texts.lock(act.db)
    await notices.send(act.db, NOTICE)


def _check_version(read: str | None, *texts: str) -> None:
    """Refuse to change texts that are not those any more that were read. The command line has not read them."""
    if read is not None and read != version_of(*texts):
        raise Refused(409, CHANGED_MEANWHILE)


@contextmanager
def _reading() -> Generator[None]:
    """Refuse the act if a file can't be used, which the block reads."""
    try:
        yield
    except UnusableTexts as error:
        raise Refused(422, f"{error}. Correct the file first.") from None


@contextmanager
def _writing(folder: Path) -> Generator[None]:
    """Refuse the act if a file can't be written as the block wants it."""
    try:
        yield
    except UnusableTexts as error:
        raise Refused(422, f"{error}.") from None
    except OSError as error:
        raise Refused(422, f"{folder} can't be written: {error.strerror}.") from None


def _terms(effective: date) -> Target:
    return Target("terms", None, effective.isoformat())


def _named(rules: Sequence[Rule], id: int) -> Rule:
    for rule in rules:
        if rule.id == id:
            return rule
    raise Refused(404, f"There is no rule {id}.")
