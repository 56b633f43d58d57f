"""E-mail addresses: which ones this server takes, and how it keeps them."""

from __future__ import annotations

import re

from .identity import domain_of
from .limits import EMAIL_CHARACTERS

LONGEST_LOCAL = 64
# A dot-atom of RFC 5322. Nothing that is more than that is taken: no quotes, no comments, no blanks, and so nothing
# that could end a line or begin another address where the address is written into a mail.
LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def mailbox_of(written: str) -> str | None:
    """An address as it is stored, its domain in lower-case ASCII; None for what can be none."""
    if len(written) > EMAIL_CHARACTERS:
        return None
    local, at, host = written.strip().rpartition("@")
    if not at or len(local) > LONGEST_LOCAL or not LOCAL.fullmatch(local) or ":" in host:
        return None
    domain = domain_of(host)
    return None if domain is None else f"{local}@{domain}"


def is_mailbox(address: str) -> bool:
    """Whether a mail can be sent there. Operators may give accounts addresses that people could not choose."""
    local, _, host = address.rpartition("@")
    return bool(len(address) <= EMAIL_CHARACTERS and LOCAL.fullmatch(local) and HOST.fullmatch(host))
