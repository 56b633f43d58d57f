"""The server's own name: the name last used, and the name in the links of its accounts.

Commands beside a server make accounts with links to it. On a loopback address these links hold the port, which only the
server was told. So the server writes its name into a file in its data folder, and commands without a setting of their
own use it.

An account's links can't change, because other servers know it by them. So a name that differs from the data's is
refused.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from ...actors.configuration import ServerSettings, Settings, is_loopback
from ...storage.engine.data_folder import make_private
from ...storage.engine.database import Connection
from ...storage.instance import newest_local_uri

NOTE = "base_url"


class OtherDomain(Exception):
    """Raised when the settings name another domain than the data."""


def remember(settings: ServerSettings) -> None:
    """Write the file. Called by the server once it holds the data folder."""
    make_private(settings.data)
    (settings.data / NOTE).write_text(settings.base_url + "\n", "utf-8")


def base_url(settings: Settings) -> str:
    """Return the start of the server's links: as chosen, else as last used, else the default."""
    note = _note(settings)
    return settings.base_url if settings.model_fields_set & {"host", "port", "domain"} or not note else note


def domain_of(settings: Settings) -> str:
    """Return the domain in the server's links, with its port."""
    return urlsplit(base_url(settings)).netloc


async def require_domain(db: Connection, settings: Settings, url: str) -> None:
    """Raise OtherDomain if links that start with `url` do not match those in the data.

    All loopback names match each other, with any port: no other server knows them.
    """
    chosen, uri = _domain(url), await newest_local_uri(db)
    known = _domain(uri or _note(settings) or url)
    if chosen == known or (_is_loopback(chosen) and (_is_loopback(known))):
        return
    if uri:
        raise OtherDomain(
            f"domain is {chosen}, and the accounts in this database have links to {known}, which can't change: set"
            f" domain = {known}, or use another database and data folder for {chosen}"
        )
    if not _is_loopback(known):
        raise OtherDomain(
            f"domain is {chosen}, and this data folder was last used for {known}: set domain = {known}; or, as no"
            f" account exists yet, remove the file {settings.data / NOTE}"
        )


def _note(settings: ServerSettings) -> str:
    note = settings.data / NOTE
    return note.read_text("utf-8").strip() if note.exists() else ""


def _domain(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _is_loopback(domain: str) -> bool:
    return is_loopback(urlsplit(f"//{domain}").hostname or "")
