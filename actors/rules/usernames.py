"""Which names an account of this server may have. Remote names follow their own server's rules."""

from collections.abc import Iterable, Iterator
from typing import Literal

import regex

USERNAME_CHARACTERS = 30
USERNAME = regex.compile(r"[A-Za-z0-9_]++")

# Names that people take for the staff's, and any that has the software's own name in it. Operators may add more.
RESERVED = frozenset(
    {"abuse", "account", "accounts", "admin", "administration", "administrator", "admins", "help", "helpdesk"}
    | {"instance", "mod", "moderator", "moderators", "mods", "owner", "root", "security", "server", "staff", "support"}
    | {"webmaster"}
)
SOFTWARE = "troupe"

# Digits that are read as letters; 1 is read as two of them, so each name has two readings.
READINGS = (str.maketrans("013457", "oieast"), str.maketrans("013457", "oleast"))

UsernameError = Literal["ERR_BLANK", "ERR_INVALID", "ERR_TOO_LONG", "ERR_RESERVED"]


def username_errors(username: str, reserved: Iterable[str] = RESERVED) -> list[UsernameError]:
    """What is wrong with a name that somebody wants to register, in the API's codes; rows know whether it is taken."""
    if not username.strip():
        return ["ERR_BLANK"]
    return list(_errors(username, reserved))


def is_reserved(username: str, reserved: Iterable[str] = RESERVED) -> bool:
    """Whether a name is kept from registration, also when digits stand for its letters."""
    kept = {name.lower() for name in reserved}
    readings = [username.lower(), *(username.lower().translate(reading) for reading in READINGS)]
    return any(reading in kept or SOFTWARE in reading for reading in readings)


def _errors(username: str, reserved: Iterable[str]) -> Iterator[UsernameError]:
    if not USERNAME.fullmatch(username):
        yield "ERR_INVALID"
    if len(username) > USERNAME_CHARACTERS:
        yield "ERR_TOO_LONG"
    if is_reserved(username, reserved):
        yield "ERR_RESERVED"
