"""The names that an account of this server may have. Remote names follow their own server's rules."""

from collections.abc import Iterable, Iterator
from typing import Literal

import regex

USERNAME_CHARACTERS = 30
USERNAME = regex.compile(r"[A-Za-z0-9_]++")

# Names that look like the staff's, and any name that contains the software's. Operators may add more.
RESERVED = frozenset(
    {"abuse", "account", "accounts", "admin", "administration", "administrator", "admins", "help", "helpdesk"}
    | {"instance", "mod", "moderator", "moderators", "mods", "owner", "root", "security", "server", "staff", "support"}
    | {"webmaster"}
)
SOFTWARE = "troupe"

# Digits that are read as letters. 1 is read as two of them, so each name has two readings.
READINGS = (str.maketrans("013457", "oieast"), str.maketrans("013457", "oleast"))

UsernameError = Literal["ERR_BLANK", "ERR_INVALID", "ERR_TOO_LONG", "ERR_RESERVED"]


def username_errors(username: str, reserved: Iterable[str] = RESERVED) -> list[UsernameError]:
    """Return the errors of a name to register, in the API's codes. Only rows show if it is taken."""
    if not username.strip():
        return ["ERR_BLANK"]
    return list(_errors(username, reserved))


def is_reserved(username: str, reserved: Iterable[str] = RESERVED) -> bool:
    """True if a name is reserved, also with underscores, or when digits stand for its letters."""
    kept = {_letters_of(name) for name in reserved}
    letters = _letters_of(username)
    readings = [letters, *(letters.translate(reading) for reading in READINGS)]
    return any(reading in kept or SOFTWARE in reading for reading in readings)


def _letters_of(name: str) -> str:
    return name.lower().replace("_", "")


def _errors(username: str, reserved: Iterable[str]) -> Iterator[UsernameError]:
    if not USERNAME.fullmatch(username):
        yield "ERR_INVALID"
    if len(username) > USERNAME_CHARACTERS:
        yield "ERR_TOO_LONG"
    if is_reserved(username, reserved):
        yield "ERR_RESERVED"
