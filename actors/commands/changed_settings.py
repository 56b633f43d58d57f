"""Acts of staff on the settings of the running server, and the consequences of a change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, changed_settings, invites
from ...storage.changed_settings import LOG_LEVEL, MEDIA_BUDGET, REGISTRATIONS
from ...storage.engine.database import Connection
from ...storage.upkeep import attention
from ..kernel import Command, Refused
from ..rules.live_settings import InvalidSetting, LiveSetting, live_setting
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act, needs

NOTICE = "settings"
# The settings that running servers read again. All other settings are read by a single loader.
NOTICES = {REGISTRATIONS: "sign_ups", LOG_LEVEL: "log_level"}


@dataclass(frozen=True, slots=True)
class ChangeSetting(Command[None]):
    """Command of staff: change a setting; None restores the value of the configuration, which is `configured`."""

    staff: Staff
    name: str
    value: str | None
    configured: str


@act(ChangeSetting, Permission.MANAGE_SETTINGS)
async def change_setting(act: StaffAct, message: ChangeSetting) -> Refused | None:
    """Change a setting. The audit log has both values as they hold before and after.

    A change to the same value is no act.
    """
    db, configured = act.db, message.configured
    try:
        setting = live_setting(message.name)
        value = None if message.value is None else setting.written(setting.parsed(message.value))
    except InvalidSetting as invalid:
        return Refused(422, f"Validation failed: {invalid}")
    before = await changed_settings.find(db, setting.name)
    if before == value:
        return None
    if value is None:
        await changed_settings.forget(db, setting.name)
    else:
        await changed_settings.put(db, setting.name, value, act.now)
    await act.log(
        "change_setting", Target("setting", None, setting.name),
        before=configured if before is None else before, after=configured if value is None else value,
    )  # fmt: skip
    await act.reload(NOTICES.get(setting.name, NOTICE))
    return None


@needs(Permission.MANAGE_SETTINGS)
async def change_media_budget(act: StaffAct, value: int | None) -> None:
    """Choose how many bytes files may take that could be fetched again. With None the default."""
    before = await changed_settings.find_media_budget(act.db)
    if value is None:
        await changed_settings.forget(act.db, MEDIA_BUDGET)
    else:
        await changed_settings.put_media_budget(act.db, value, act.now)
    await act.log("change_setting", Target("setting", None, MEDIA_BUDGET), before=before, after=value)


async def affected(db: Connection, setting: LiveSetting, before: str, after: str, now: datetime) -> list[str]:
    """Return the consequences of a change of a setting, as sentences with current numbers."""
    if before == after:
        return ["Nothing: it is so already."]
    match setting.name:
        case "registrations":
            return await _of_registrations(db, after, now)
        case "contact_account":
            return await _of_contact(db, after)
        case "log_level":
            return [f"The log has records of the level {after} and above from now on. Those before stay."]
        case "stream_queue":
            return [f"Streams that are opened from now on may have {after} events waiting. Open ones keep {before}."]
        case "rate_limits":
            words = "is throttled again" if after == "true" else "may ask as often as it likes, and guess passwords"
            return [f"Every client {words}."]
        case "connections_per_address":
            return [f"An address may open a connection while it has fewer than {after}. Those that are open stay."]
        case "timeline_memory":
            return [f"Timelines beyond {after} MiB, before {before}, sleep until they are wanted."]
        case "search_results":
            return [f"Searches answer with at most {after} results of each kind, before with {before}."]
        case "public_preview":
            closed = "get 401 for public timelines, trends and the profile directory"
            return [f"People who are not signed in {'may read public timelines' if after == 'true' else closed}."]
        case "require_reason":
            words = "must say why they join" if after == "true" else "may sign up without a reason"
            return [f"People who sign up {words}, as long as sign-ups wait for approval."]
        case "title":
            return ["Pages and apps show the new name at once, mails after the next start."]
        case _:
            return ["Pages and apps show it at once. Apps may keep what they have read for a while."]


async def _of_registrations(db: Connection, after: str, now: datetime) -> list[str]:
    waiting = (await attention.waiting(db)).sign_ups
    valid = sum(invite.is_valid(now) for invite in await invites.find_all(db))
    words = {
        "open": "People sign up and are in as soon as they confirm their address.",
        "approval": "People sign up, and wait until staff approve them.",
        "closed": "People sign up with an invite alone. Sign-up pages say so at once.",
    }
    waits = f"{waiting} sign-ups wait for approval and go on waiting." if waiting else ""
    with_invites = f"{valid} invites are valid and go on letting people in." if valid else ""
    return [sentence for sentence in (words[after], waits, with_invites) if sentence]


async def _of_contact(db: Connection, after: str) -> list[str]:
    if not after:
        return ["Apps and pages name no account to reach the operator at."]
    found = await accounts.find_by_acct(db, after, None)
    if found is None:
        return [f"There is no account {after} here: apps and pages would name none."]
    return [f"Apps and pages name @{found.username}, who gets the messages of people."]
