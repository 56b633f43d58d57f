"""E-mail addresses: which addresses this server accepts, and how it stores them."""

from __future__ import annotations

import hashlib
import ipaddress
import re

from .identity import domain_of
from .limits import EMAIL_CHARACTERS

LONGEST_LOCAL = 64
# A dot-atom of RFC 5322 and nothing more: no quotes, comments or blanks. So nothing in it can end a line or begin
# another address where the address is written into a mail.
LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
ONE_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def mailbox_of(written: str, local_domain: str) -> str | None:
    """Return an e-mail address as it is stored, its domain in lower-case ASCII, or None if it is not an address.

    A domain of a single label (`localhost`, `intranet`) is accepted only by a server whose own domain is of this kind
    (`is_inside`).
    """
    if len(written) > EMAIL_CHARACTERS:
        return None
    local, at, host = written.strip().rpartition("@")
    if not at or len(local) > LONGEST_LOCAL or not LOCAL.fullmatch(local) or ":" in host:
        return None
    domain = domain_of(host)
    if domain is None and ONE_LABEL.fullmatch(host) and is_inside(local_domain):
        domain = host.lower()
    return None if domain is None else f"{local}@{domain}"


def spelled(written: str) -> str:
    """Return an address as it is stored: without blanks around it, its domain in lower-case ASCII. Other texts stay."""
    local, at, host = written.strip().rpartition("@")
    return f"{local}{at}{domain_of(host) or host.lower()}" if at else host


def canonical_hash(mailbox: str) -> bytes:
    """Return the SHA-256 of the form by which blocked addresses are compared: in lower case, without tag and dots.

    Many providers deliver `e.v.e+news@example.org` to `eve@example.org`. Two users may have such addresses, because
    other providers give them to two people. But a blocked person must not sign up again with another spelling.
    """
    local, _, host = spelled(mailbox).lower().rpartition("@")
    canonical = f"{local.partition('+')[0].replace('.', '')}@{host}"
    return hashlib.sha256(canonical.encode()).digest()


def is_inside(local_domain: str) -> bool:
    """True if the server's own domain is known only inside its network: a single label, or a loopback address."""
    host = local_domain.partition(":")[0]
    if "." not in host or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_mailbox(address: str) -> bool:
    """True if a mail can be sent there. Operators may give accounts addresses that people can't choose."""
    local, _, host = address.rpartition("@")
    return bool(len(address) <= EMAIL_CHARACTERS and LOCAL.fullmatch(local) and HOST.fullmatch(host))
