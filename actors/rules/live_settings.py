"""The settings that staff change while the server runs: their bounds and their texts.

They are a part of the configuration (`actors/configuration.py`), with the same names and the same bounds. A test
compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .mailboxes import is_mailbox, spelled
from .usernames import USERNAME

Value = str | int | bool | None
Kind = Literal["choice", "text", "number", "flag"]
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class InvalidSetting(Exception):
    """Raised for a value that a setting can't have. The text names the allowed values."""


@dataclass(frozen=True, slots=True)
class LiveSetting:
    """A setting: its name in the configuration, its group, and its bounds."""

    name: str
    group: str
    words: str
    kind: Kind
    choices: tuple[str, ...] = ()
    least: int = 0  # characters of a text, or the smallest number
    most: int = 0
    lines: bool = False  # a text of several lines

    def parsed(self, text: str) -> Value:
        """Return the value that a text means. Raises InvalidSetting."""
        written = text.strip()
        match self.kind:
            case "choice":
                return self._choice(written)
            case "number":
                return self._number(written)
            case "flag":
                return self._flag(written.lower())
            case "text":
                return self._text(written)

    def written(self, value: object) -> str:
        """Return a value as text, which `parsed` reads."""
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _choice(self, text: str) -> str:
        if text not in self.choices:
            raise InvalidSetting(f"{self.name} is one of {', '.join(self.choices)}")
        return text

    def _number(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and self.least <= int(text) <= self.most):
            raise InvalidSetting(f"{self.name} is a number from {self.least} to {self.most}")
        return int(text)

    def _flag(self, text: str) -> bool:
        if text not in TRUE + FALSE:
            raise InvalidSetting(f"{self.name} is true or false")
        return text in TRUE

    def _text(self, text: str) -> str | None:
        if not self.least <= len(text) <= self.most or "\0" in text or (not self.lines and "\n" in text):
            raise InvalidSetting(f"{self.name} is a text of {self.least} to {self.most} characters")
        if self.name == "contact_email" and text:
            text = spelled(text)
            if not is_mailbox(text):
                raise InvalidSetting("contact_email is an e-mail address, or empty")
        if self.name == "contact_account":
            if text and not USERNAME.fullmatch(text):
                raise InvalidSetting("contact_account is the name of an account of this server, or empty")
            return text or None
        return text


SIGN_UPS, TEXTS, LIMITS, LOG = "Sign-ups", "Texts", "Limits", "Log"

LIVE_SETTINGS: dict[str, LiveSetting] = {
    setting.name: setting
    for setting in (
        LiveSetting("registrations", SIGN_UPS, "Who may sign up", "choice", ("open", "approval", "closed")),
        LiveSetting("require_reason", SIGN_UPS, "With approval: people must say why they join", "flag"),
        LiveSetting("title", TEXTS, "Name of the server", "text", least=1, most=200),
        LiveSetting("description", TEXTS, "One paragraph about the server", "text", most=2000, lines=True),
        LiveSetting("contact_email", TEXTS, "Address to reach the operator at", "text", most=320),
        LiveSetting("contact_account", TEXTS, "Account to reach the operator at, without @", "text", most=30),
        LiveSetting("public_preview", LIMITS, "People who are not signed in may read public timelines", "flag"),
        LiveSetting("search_results", LIMITS, "Most results of one kind of a search", "number", least=1, most=200),
        LiveSetting(
            "stream_queue", LIMITS, "Events that may wait for a slow streaming client", "number", least=16, most=65536
        ),
        LiveSetting("rate_limits", LIMITS, "Requests are counted and throttled", "flag"),
        LiveSetting(
            "connections_per_address", LIMITS, "Connections of one IP address", "number", least=1, most=100_000
        ),
        LiveSetting(
            "timeline_memory", LIMITS, "MiB that all awake timelines may hold", "number", least=16, most=65536
        ),
        LiveSetting("log_level", LOG, "Lowest level that is written", "choice", ("info", "warning", "error")),
    )
}  # fmt: skip


def live_setting(name: str) -> LiveSetting:
    """Return a setting by its name. Raises InvalidSetting."""
    found = LIVE_SETTINGS.get(name.replace("-", "_"))
    if found is None:
        raise InvalidSetting(f"{name} can't change while the server runs. Those that can: {', '.join(LIVE_SETTINGS)}")
    return found
