"""The names of accounts and servers: the links that a local account's rows hold, handles, domains."""

from __future__ import annotations

import re
import unicodedata

import idna
import regex

from ...storage.accounts import NewAccount

ACCT = regex.compile(r"^acct:(?://)?", regex.IGNORECASE)
FULL_WIDTH_AT = "\uff20"
LONGEST_SOUGHT = 4096  # characters, more than a handle or an address has
NOT_SHOWN = frozenset({"Cf", "Cc"})  # categories of Unicode
# Characters without a sign that come along when a name or an address is copied: the marks of direction, which pages put
# around handles, blanks without width, and byte order marks.
INVISIBLE = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2060\ufeff"
SIGNS_BEFORE = regex.compile(r"""[\s\p{Ps}\p{Pi}\p{Pf}<"'`]*+""")
SIGNS_BEHIND = regex.compile(r"""(?r)[\s\p{Pe}\p{Pi}\p{Pf}\p{Terminal_Punctuation}…>"'`]*+""")  # read from the end

# `name`, `@name`, `name@domain`, and `!name@domain` as Lemmy writes groups. The domain may be incomplete while it is
# typed.
HANDLE = re.compile(r"(?:@|!(?=[^@]+@))?(?P<name>[A-Za-z0-9_.-]{1,2048})(?:@(?P<domain>[^\s@/]{0,259}))?")
DOMAIN = re.compile(r"(?=.{1,253}(?::|$))[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+(:[0-9]{1,5})?")
USERNAME = re.compile(r"[A-Za-z0-9_]{1,30}")
# A domain, a handle or an address of a page: the part that ends with the domain is the first group.
PASTED = re.compile(r"(?:https?://|acct:|//)?([^\s/?#\\]+)(?:[/?#\\].*)?", re.IGNORECASE | re.DOTALL)
LONGEST_PASTED = 2048
DOTS = ".\u3002\uff0e\uff61"  # the signs that separate labels (UTS 46)
DEFAULT_PORTS = (":443", ":80")


def local_account(id: int, username: str, base_url: str) -> NewAccount:
    """Return a new account of this server, unlocked."""
    uri = f"{base_url}/users/{username}"
    return NewAccount(
        id=id,
        username=username,
        domain=None,
        uri=uri,
        url=f"{base_url}/@{username}",
        inbox_url=f"{uri}/inbox",
        shared_inbox_url=f"{base_url}/inbox",
        outbox_url=f"{uri}/outbox",
        followers_url=f"{uri}/followers",
        following_url=f"{uri}/following",
        featured_url=f"{uri}/collections/featured",
    )


def handle_of(written: str, local_domain: str) -> tuple[str, str | None] | None:
    """Return name and domain of a handle, the domain None for this server. None if it is no handle."""
    found = HANDLE.fullmatch(written.strip())
    if found is None:
        return None
    written_domain = found["domain"]
    domain = domain_of(written_domain) or written_domain.lower() if written_domain else None
    return found["name"], None if domain == local_domain else domain


def without_signs_around(written: str) -> str:
    """Return a searched name or address without the signs around it.

    They come from the text that it was copied from, such as `(@ada@example.com),`. Phones also put invisible characters
    around names and addresses.
    `acct:` is the scheme of handles. Signs that may end a name or an address stay.
    """
    shown = "".join(sign for sign in written[:LONGEST_SOUGHT] if unicodedata.category(sign) not in NOT_SHOWN)
    bare = SIGNS_BEHIND.sub("", SIGNS_BEFORE.sub("", shown, 1), 1)
    return ACCT.sub("", unicodedata.normalize("NFKC", bare) if FULL_WIDTH_AT in bare else bare)


def domain_of(written: str) -> str | None:
    """Return a domain as it is stored, in lower-case ASCII. None if it is not a domain."""
    name, colon, port = written.strip().removeprefix("@").rstrip(".").partition(":")
    try:
        encoded = idna.encode(name, uts46=True).decode() + colon + port
    except idna.IDNAError:
        return None
    return encoded if DOMAIN.fullmatch(encoded) else None


def pasted_domain(written: str) -> str | None:
    """Return the domain that a person means, as it is stored. None if no domain can be found.

    The domain may be written as in a list of blocks (`*.example.org`, `.example.org`), as the address of a page, or as
    the end of a handle. `*.example.org` is `example.org`: a block of a domain also applies to its subdomains.
    """
    found = PASTED.fullmatch(written.strip().strip(INVISIBLE)) if len(written) <= LONGEST_PASTED else None
    if found is None:
        return None
    name, at, host = found[1].removeprefix("@").rpartition("@")
    if at and (not name or "@" in name):
        return None
    if not at:
        host = host.removeprefix("*").removeprefix(".")
    host, colon, port = host.partition(":")
    domain = domain_of(host.rstrip(DOTS) + colon + port)
    if domain is None:
        return None
    return next((domain.removesuffix(port) for port in DEFAULT_PORTS if domain.endswith(port)), domain)
