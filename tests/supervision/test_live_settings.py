"""The settings that change while the server runs are those of the configuration, with the same bounds."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from troupe.actors.configuration import Settings
from troupe.actors.kernel import SystemClock
from troupe.actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, LiveSetting
from troupe.supervision.log.log import SupervisionLog, as_json
from troupe.supervision.tree import Troupe

NAMES = sorted(LIVE_SETTINGS)


def is_configurable(name: str, value: Any) -> bool:
    try:
        Settings.model_validate({name: value})
    except ValidationError:
        return False
    return True


def is_live(setting: LiveSetting, text: str) -> bool:
    try:
        setting.parsed(text)
    except InvalidSetting:
        return False
    return True


def edges(setting: LiveSetting) -> list[str]:
    """Texts at the bounds of a setting, and beyond them."""
    match setting.kind:
        case "choice":
            return [*setting.choices, "other", ""]
        case "flag":
            return ["true", "false", "perhaps"]
        case "number":
            return [str(one) for one in (setting.least - 1, setting.least, setting.most, setting.most + 1)]
        case "text":
            return ["x" * setting.most, "x" * (setting.most + 1), "x" * setting.least]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_setting_of_the_configuration(name: str) -> None:
    setting, default = LIVE_SETTINGS[name], Settings().__dict__[name]
    assert name in Settings.model_fields
    assert setting.parsed(setting.written(default)) == default


# The configuration checks names of accounts only by looking for the account.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "contact_account"])
def test_the_bounds_are_those_of_the_configuration(name: str) -> None:
    setting = LIVE_SETTINGS[name]
    for text in edges(setting):
        assert is_live(setting, text) == is_configurable(name, text), text


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_setting_is_one_of_the_settings(name: str) -> None:
    setting = LIVE_SETTINGS[name]
    texts = [text for text in edges(setting) if is_live(setting, text)]
    for text in texts:
        changed = Settings().changed({name: setting.parsed(text)})
        assert setting.written(changed.__dict__[name]) == setting.written(setting.parsed(text))


def test_the_memory_of_timelines_changes_while_the_server_runs(tmp_path: Path) -> None:
    log = SupervisionLog(lambda line: None, SystemClock(), as_json)
    running = Troupe(Settings(data=tmp_path, timeline_memory=32), "", log)
    shared_entries = running.actors.actor_context.shared_entries
    assert shared_entries.most() == 32 * 2**20
    running.http_context.use_settings({"timeline_memory": 16})
    assert shared_entries.most() == 16 * 2**20
