"""A change of a setting of the running server, in the turn of the member of staff who makes it."""

from __future__ import annotations

from dataclasses import dataclass

from ..account import AccountActor
from ..changed_settings import change_setting
from ..kernel import Message, Refused, turn
from ..rules.live_settings import InvalidSetting, live_setting
from ..staff import Staff, act_in_turn


@dataclass(frozen=True, slots=True)
class ChangeSetting(Message[None]):
    """Command of staff: change a setting; with None the configuration says again what it is, which is `configured`."""

    staff: Staff
    name: str
    value: str | None
    configured: str


@turn(AccountActor, ChangeSetting)
async def change(account: AccountActor, message: ChangeSetting) -> Refused | None:
    try:
        setting = live_setting(message.name)
        value = None if message.value is None else setting.written(setting.parsed(message.value))
    except InvalidSetting as invalid:
        return Refused(422, f"Validation failed: {invalid}")
    return await act_in_turn(account, message.staff, change_setting, setting, value, message.configured)
