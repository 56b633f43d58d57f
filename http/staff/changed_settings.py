"""The page of settings that staff can change, with the audit log of changes, and a preview of a change's effects."""

from __future__ import annotations

from dataclasses import dataclass

from ...actors.commands.changed_settings import ChangeSetting, affected
from ...actors.kernel import Refused
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, LiveSetting
from ...actors.rules.roles import Permission
from ...storage import audit_log, changed_settings
from ...storage.audit_log import AuditFilter
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..intake.parameters import Flag, Text
from .member import StaffForm, StaffMember
from .staff_page import Facts, ListQuery, StaffPage, page_links

SHOWN_CHANGES = 20
SETTINGS = StaffPage(
    "/admin/settings",
    Permission.MANAGE_SETTINGS,
    {"changed": "The setting was changed. It holds from now on.", "same": "It was so already."},
)


class SettingForm(StaffForm):
    """A change. Without `sure`, the answer is the preview; with it, the setting is changed."""

    value: Text = ""
    reset: Flag = False
    sure: Flag = False


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting with its value and its configured value, as texts."""

    setting: LiveSetting
    value: str
    configured: str
    changed: bool


@SETTINGS.get("settings.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the settings, and below them a page of their changes."""
    context, page = me.context, wanted.page(SHOWN_CHANGES)
    stored = await context.database.read(changed_settings.find_all)
    entries = await context.database.read(audit_log.page, AuditFilter(target_type="setting"), page)
    return {
        "typed": None,
        "name": "",
        "groups": _by_group([_made(me, setting, stored.get(setting.name)) for setting in LIVE_SETTINGS.values()]),
        "without_mail": context.sign_ups.closed_without_mail,
        "entries": entries,
        "page_links": page_links(me.request, page, [entry.id for entry in entries]),
    }


@SETTINGS.post("/<name>", typed="typed")
async def change(me: StaffMember, name: str, posted: SettingForm) -> str | Answer:
    """Show the preview of a change, or change the setting."""
    setting = LIVE_SETTINGS.get(name)
    if setting is None:
        raise NotFound
    shown = await _shown(me, setting)
    try:
        after = shown.configured if posted.reset else setting.written(setting.parsed(posted.value))
    except InvalidSetting as invalid:
        raise Refused(422, str(invalid)) from None
    if not posted.sure:
        return await _dry_run(me, shown, after, reset=posted.reset)
    await me.ask(ChangeSetting(me.staff, name, None if posted.reset else after, shown.configured))
    return "changed" if after != shown.value else "same"


async def _dry_run(me: StaffMember, shown: ShownSetting, after: str, *, reset: bool) -> Answer:
    context = me.context
    affects = await context.database.read(affected, shown.setting, shown.value, after, context.clock.now())
    return me.page("setting.html", shown=shown, after=after, reset=reset, affects=affects)


async def _shown(me: StaffMember, setting: LiveSetting) -> ShownSetting:
    stored = await me.context.database.read(changed_settings.find, setting.name)
    return _made(me, setting, stored)


def _made(me: StaffMember, setting: LiveSetting, stored: str | None) -> ShownSetting:
    configured = setting.written(getattr(me.context.configured, setting.name))
    return ShownSetting(setting, configured if stored is None else stored, configured, stored is not None)


def _by_group(shown: list[ShownSetting]) -> dict[str, list[ShownSetting]]:
    names = dict.fromkeys(row.setting.group for row in shown)
    return {name: [row for row in shown if row.setting.group == name] for name in names}
