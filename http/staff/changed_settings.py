"""The page of the settings that change while the server runs, with who changed what, and what a change will affect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...actors.commands.changed_settings import ChangeSetting, affected
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, LiveSetting
from ...actors.rules.roles import Permission
from ...storage import audit_log, changed_settings
from ...storage.audit_log import AuditFilter
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.paging import Paged
from ..intake.parameters import Flag, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, staff_member, staff_sender

PERMISSION = Permission.MANAGE_SETTINGS
SHOWN_CHANGES = 20
DONE = {"changed": "The setting was changed. It holds from now on.", "same": "It was so already."}


class SettingsQuery(Paged, Done):
    """A page of the changes below the settings."""


class SettingForm(StaffForm):
    """A change. The first form leads to what it will affect, the second one, `sure`, makes it."""

    value: Text = ""
    reset: Flag = False
    sure: Flag = False


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting with its value as text, and that of the configuration."""

    setting: LiveSetting
    value: str
    configured: str
    changed: bool


@api.get("/admin/settings", page=True)
async def show(context: HttpContext, request: Request, wanted: SettingsQuery) -> Answer:
    """Show the settings."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted, done=words_of(wanted, DONE))


@api.post("/admin/settings/<name>", page=True)
async def change(context: HttpContext, request: Request, name: str, posted: SettingForm) -> Answer:
    """Show what a change will affect, or make it."""
    me = await staff_sender(context, request, posted, PERMISSION)
    setting = LIVE_SETTINGS.get(name)
    if setting is None:
        raise NotFound
    shown = await _shown(me, setting)
    try:
        after = shown.configured if posted.reset else setting.written(setting.parsed(posted.value))
    except InvalidSetting as invalid:
        return await _page(me, SettingsQuery(), problem=f"{invalid}.", typed={name: posted.value})
    if not posted.sure:
        return await _dry_run(me, shown, after, reset=posted.reset)
    value = None if posted.reset else after
    problem = await me.attempt(ChangeSetting(me.staff, name, value, shown.configured))
    if problem is not None:
        return await _page(me, SettingsQuery(), problem=problem)
    # The notice of the commit comes to every server soon. This one has the change before the answer.
    await context.live_settings.reload()
    await context.sign_ups.reload()
    return redirect(with_done("/admin/settings", "changed" if after != shown.value else "same"))


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


# `Any`: facts of a template.
async def _page(me: StaffMember, wanted: SettingsQuery, **facts: Any) -> Answer:
    context, page = me.context, wanted.page(SHOWN_CHANGES)
    stored = await context.database.read(changed_settings.find_all)
    entries = await context.database.read(audit_log.page, AuditFilter(target_type="setting"), page)
    return me.page(
        "settings.html",
        typed=facts.pop("typed", {}),
        groups=_by_group([_made(me, one, stored.get(one.name)) for one in LIVE_SETTINGS.values()]),
        without_mail=context.sign_ups.closed_without_mail,
        entries=entries,
        page_links=page_links(me.request, page, [one.id for one in entries]),
        **facts,
    )


def _by_group(shown: list[ShownSetting]) -> dict[str, list[ShownSetting]]:
    names = dict.fromkeys(one.setting.group for one in shown)
    return {name: [one for one in shown if one.setting.group == name] for name in names}
