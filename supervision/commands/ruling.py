"""Changing the file of rules, for the commands. The audit log has each change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

from ...actors.kernel.ids import Ids
from ...actors.policies import NOTICE
from ...actors.staff import Target, act_at_command_line
from ...storage import audit_log, reports
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.policies import LARGEST_ID, Rule, RuleText, read_rules, write_rules
from .acting import NotDone
from .options import settings_from
from .rows import transact
from .text_files import reading, texts_folder, writing

# Given the rules and the highest id that a rule ever had, it returns the new rules and the one that it is about.
Change = Callable[[Sequence[Rule], int], tuple[list[Rule], Rule]]


def listed(config: Path | None, data: str | None) -> list[dict[str, object]]:
    """Return the rules in their order."""
    return [
        {"id": str(one.id), **asdict(one.original), "translations": {k: asdict(t) for k, t in one.translations.items()}}
        for one in _read(texts_folder(config, data))
    ]


def add(config: Path | None, data: str | None, text: str, hint: str) -> int:
    """Add a rule and return its id."""

    def added(rules: Sequence[Rule], highest: int) -> tuple[list[Rule], Rule]:
        if highest >= LARGEST_ID:
            raise NotDone("No higher id is left for another rule.")
        new = Rule(highest + 1, RuleText(text, hint))
        return [*rules, new], new

    return _change(config, data, "add_rule", added)


def change(
    config: Path | None, data: str | None, id: int, text: str | None, hint: str | None, language: str | None
) -> None:
    """Change the original of a rule or a translation."""

    def changed(rules: Sequence[Rule], _: int) -> tuple[list[Rule], Rule]:
        before = _named(rules, id)
        old = before.original if language is None else before.translations.get(language, RuleText(""))
        new = RuleText(old.text if text is None else text, old.hint if hint is None else hint)
        if language is None:
            rule = replace(before, original=new)
        else:
            rule = replace(before, translations={**before.translations, language: new})
        return [rule if one.id == id else one for one in rules], rule

    _change(config, data, "change_rule", changed)


def remove(config: Path | None, data: str | None, id: int) -> None:
    """Remove a rule."""
    _change(config, data, "remove_rule", lambda rules, _: ([one for one in rules if one.id != id], _named(rules, id)))


def _change(config: Path | None, data: str | None, action: str, wanted: Change) -> int:
    """Change the file in a transaction of the rows, so that commands take turns. Return the id of the rule."""
    return transact(settings_from(config, data=data), _write, texts_folder(config, data), action, wanted)


async def _write(db: Connection, folder: Path, action: str, wanted: Change, ids: Ids, now: datetime) -> int:
    rules = _read(folder)
    used = await audit_log.highest_target(db, "rule"), await reports.highest_rule(db)
    changed, rule = wanted(rules, max(*used, *(one.id for one in rules)))
    await act_at_command_line(ids, now).log(
        db, action, Target("rule", rule.id, str(rule.id)), "", text=rule.original.text
    )
    await notices.announce(db, NOTICE)
    # The file comes last: if it can't be written, nothing is stored.
    with writing(folder):
        write_rules(folder, changed)
    return rule.id


def _read(folder: Path) -> tuple[Rule, ...]:
    with reading():
        return read_rules(folder)


def _named(rules: Sequence[Rule], id: int) -> Rule:
    for rule in rules:
        if rule.id == id:
            return rule
    raise NotDone(f"There is no rule {id}.")
