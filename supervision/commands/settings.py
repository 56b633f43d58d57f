"""`troupe settings`: settings that change while the server runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ...actors.configuration import MailSettings, Settings
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, LiveSetting, live_setting
from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .chosen_server import ChosenServer
from .options import dry_run_option, json_option, print_list, setting_options
from .refusals import WrongValue, require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

MOST_CHANGES = 1000


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change that was made, or would be."""

    name: str
    before: str
    after: str
    affects: Sequence[str]
    obstacles: Sequence[str]


@click.group
def settings() -> None:
    """Settings that change while the server runs. They override files and the environment."""


@settings.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List these settings, one a line: name, value and source."""
    found = server.transact(_found)
    print_list(
        found, lambda setting: f"{setting['name']}\t{_one_line(setting['value'])}\t{_source(setting)}", as_json=as_json
    )


async def _found(db: Connection, here: Here) -> list[JsonObject]:
    """Return all settings that can change."""
    from ...storage import changed_settings

    changed = await changed_settings.find_all(db)
    return [_shown(here.settings, setting, changed.get(setting.name)) for setting in LIVE_SETTINGS.values()]


def _shown(settings: Settings, setting: LiveSetting, changed: str | None) -> JsonObject:
    configured = _configured(settings, setting)
    value = configured if changed is None else changed
    return {
        "name": setting.name,
        "value": value,
        "configured": configured,
        "changed": changed is not None,
        "meaning": setting.words,
        "obstacles": _obstacles(settings, setting, value),
    }


def _source(setting: JsonObject) -> str:
    source = "chosen by staff" if setting["changed"] else "the configuration says so"
    return "; ".join([source, *setting["obstacles"]])


@settings.command("set")
@click.argument("name")
@click.argument("value")
@dry_run_option
@setting_options("data")
def set_(server: ChosenServer, name: str, value: str, dry_run: bool) -> None:
    """Change the setting NAME to VALUE. It holds at once, and stays until the next change, also after a restart."""
    _change(server, name, value, dry_run=dry_run)


@settings.command
@click.argument("name")
@dry_run_option
@setting_options("data")
def reset(server: ChosenServer, name: str, dry_run: bool) -> None:
    """Forget the change of the setting NAME, so that the configuration counts again."""
    _change(server, name, None, dry_run=dry_run)


def _change(server: ChosenServer, name: str, value: str | None, *, dry_run: bool) -> None:
    done = server.transact(_store, name, value, dry_run=dry_run)
    click.echo(f"{'Would change' if dry_run else 'Changed'} {done.name} from {done.before!r} to {done.after!r}")
    for sentence in done.affects if dry_run else done.obstacles:
        click.echo(f"  {sentence}")


async def _store(db: Connection, here: Here, name: str, value: str | None) -> SettingChange:
    """Change a setting; with None the configuration counts again. Return the effects of the change."""
    from ...actors.commands.changed_settings import ChangeSetting, affected, change_setting
    from ...storage import changed_settings

    try:
        setting = live_setting(name)
        wanted = None if value is None else setting.written(setting.parsed(value))
    except InvalidSetting as invalid:
        raise WrongValue(f"{invalid}.") from None
    configured = _configured(here.settings, setting)
    stored = await changed_settings.find(db, setting.name)
    before, after = (configured if value is None else value for value in (stored, wanted))
    obstacles = _obstacles(here.settings, setting, after)
    affects = obstacles or await affected(db, setting, before, after, here.now)
    require(await change_setting(here.act, ChangeSetting(here.staff, setting.name, wanted, configured)))
    return SettingChange(setting.name, before, after, affects, obstacles)


def _configured(settings: Settings, setting: LiveSetting) -> str:
    return setting.written(getattr(settings, setting.name))


def _obstacles(settings: MailSettings, setting: LiveSetting, value: str) -> list[str]:
    """Return the reasons why a value has no effect."""
    from ...storage.changed_settings import REGISTRATIONS

    if setting.name == REGISTRATIONS and value != "closed" and not settings.sends_mail:
        return ["Sign-ups stay closed: there is no `smtp_host`, so no address can be confirmed."]
    return []


@settings.command
@click.argument("name", required=False)
@json_option
@setting_options("data")
def history(server: ChosenServer, name: str | None, as_json: bool) -> None:
    """List changes of settings, the latest first: time, actor, name, old and new value; with NAME, of one setting."""
    print_list(server.transact(_changes, name), _changed, as_json=as_json)


async def _changes(db: Connection, here: Here, name: str | None) -> list[JsonObject]:
    """Return the changes, the latest first. Raises WrongValue for a name that is not of a changeable setting."""
    from ...storage import audit_log
    from ...storage.audit_log import AuditFilter

    found = await audit_log.page(db, AuditFilter(target_type="setting"), Page(MOST_CHANGES))
    wanted = None if name is None else name.replace("-", "_")
    if wanted is not None and wanted not in {*LIVE_SETTINGS, *(entry.target for entry in found)}:
        raise WrongValue(f"{name} names no setting that can change while the server runs.")
    return [
        {
            "at": entry.created_at.isoformat(),
            "by": entry.actor,
            "name": entry.target,
            "before": entry.details.get("before"),
            # Entries of earlier versions have the new value alone.
            "after": entry.details.get("after", entry.details.get("value")),
        }
        for entry in found
        if wanted in (None, entry.target)
    ]


def _changed(entry: JsonObject) -> str:
    return f"{entry['at']}\t{entry['by']}\t{entry['name']}\t{_one_line(entry['before'])} -> {_one_line(entry['after'])}"


def _one_line(text: object) -> str:
    return " ".join(str("" if text is None else text).split())
