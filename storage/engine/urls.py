"""The URL of an external PostgreSQL, as an operator has written it for any program."""

from __future__ import annotations

from urllib.parse import urlsplit

# Parameters by which libpq handles its own connections, and values by which nothing is demanded. asyncpg would ask
# PostgreSQL for settings of these names, and be refused.
OF_LIBPQ = frozenset(
    {
        "connect_timeout", "fallback_application_name", "keepalives", "keepalives_count", "keepalives_idle",
        "keepalives_interval", "load_balance_hosts", "sslcompression", "sslsni", "tcp_user_timeout",
    }
)  # fmt: skip
NO_DEMANDS = frozenset({"channel_binding=prefer", "channel_binding=disable", "gssencmode=prefer", "gssencmode=disable"})


# Parameters whose values may have an @. A user and a host can stand here too, as for a socket.
WITH_AT = frozenset(
    {
        "application_name", "database", "dbname", "host", "options", "passfile", "password", "sslcert", "sslcrl",
        "sslkey", "sslpassword", "sslrootcert", "user",
    }
)  # fmt: skip


def for_asyncpg(url: str) -> str:
    """Return a URL without the parameters that only libpq knows and that can be left out."""
    address, _, query = url.partition("?")
    kept = [one for one in query.split("&") if one.partition("=")[0] not in OF_LIBPQ and one not in NO_DEMANDS]
    return f"{address}?{'&'.join(kept)}" if any(kept) else address


def is_whole(url: str) -> bool:
    """False if a password with @ / ? or # in it cuts the URL.

    Its rest would be taken for the host, or shown as the name of the database. Values of a query may have an @.
    """
    _, authority, path, query, fragment = urlsplit(url)
    if authority.count("@") > 1 or any("@" in part for part in (path, query.partition("=")[0], fragment)):
        return False
    return "@" in authority or all(part.partition("=")[0] in WITH_AT for part in query.split("&") if "@" in part)
