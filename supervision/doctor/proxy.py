"""The domain, and the proxy in front: a request through the public address, and how it arrived at the server."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping

import orjson

from ...actors.configuration import RequestSettings, ServerSettings, Settings
from ...http.server.addresses import is_inside
from ...storage.engine.connect import transact_once
from ...storage.engine.database import StorageError
from ...storage.engine.json_values import JsonObject
from ..settings.domain import OtherDomain, require_domain
from .findings import Examination, Finding
from .public_address import PublicAddress, ask, public_address

SUBJECT = "proxy"
# An address for documentation (RFC 5737), as a client could send it to hide its own.
FORGED = "203.0.113.77"
ADD = "nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; Caddy does it by itself."
WIDEST = {4: 8, 6: 16}  # bits of the networks that proxies are in


def check_proxy(examination: Examination) -> Iterator[Finding]:
    """Check the domain against the data, and ask the public address if that is allowed."""
    settings = examination.sources.settings
    yield from _domain(examination)
    yield from _trusted(settings)
    if (reason := not_asked(examination)) is not None:
        yield Finding(SUBJECT, "note", reason)
        return
    server = examination.server or {}
    address = public_address(settings)
    headers = {"X-Troupe-Probe": str(server["probe"]), "X-Forwarded-For": FORGED, "Accept": "application/json"}
    try:
        answer = ask(address, "/health", headers)
        seen: JsonObject | None = orjson.loads(answer.body).get("seen") if answer.status == 200 else None
    except OSError as error:
        yield unreachable(SUBJECT, settings, error)
        return
    except (orjson.JSONDecodeError, AttributeError):
        seen = None
    if seen is None:
        yield Finding(
            SUBJECT, "wrong", f"at {settings.base_url} another server answers, or a cache of this server",
            "Let the proxy pass all paths and headers on to Troupe, and keep no answers of /health.",
        )  # fmt: skip
        return
    yield from evaluate(seen, settings, address)


def not_asked(examination: Examination) -> str | None:
    """Return why the public address is not asked; None if it is."""
    if examination.server is None:
        return "no server answers here: its public address was not asked"
    if public_address(examination.sources.settings).online and not examination.online:
        return f"{examination.sources.settings.base_url} was not asked: add --online"
    return None


def evaluate(seen: Mapping[str, object], settings: Settings, address: PublicAddress) -> Iterator[Finding]:
    """Return the findings about a request that arrived with these headers."""
    wrong = [*_host(seen, address)]
    if settings.secure and settings.tls_certificate is None:  # then there is a proxy
        wrong += _client(seen, settings)
    if not wrong:
        yield Finding(
            SUBJECT, "good", f"requests to {settings.base_url} arrive with their host and their client's address"
        )
    yield from wrong


def _host(seen: Mapping[str, object], address: PublicAddress) -> Iterator[Finding]:
    if str(seen["host"]).lower() != address.authority:
        yield Finding(
            SUBJECT, "wrong", f"requests to {address.authority} arrive with Host: {seen['host']}, so signatures of"
            " other servers do not hold",
            "Pass Host on unchanged. nginx: proxy_set_header Host $host; Caddy does it by itself.",
        )  # fmt: skip


def _client(seen: Mapping[str, object], settings: RequestSettings) -> Iterator[Finding]:
    peer, forwarded = str(seen["peer"]), seen["forwarded_for"]
    if settings.proxy_protocol:
        return  # the header of that protocol names the client
    if forwarded is None:
        yield Finding(
            SUBJECT, "wrong", f"all clients count as one: requests come from {peer} without X-Forwarded-For", ADD
        )
    elif forwarded == FORGED:
        yield Finding(
            SUBJECT, "wrong", "clients can choose the address that they are counted by: the proxy passes their"
            " X-Forwarded-For on as it is", ADD,
        )  # fmt: skip
    elif not is_inside(peer, settings.trusted_proxies):
        yield Finding(
            SUBJECT, "wrong", f"all clients count as one: requests come from {peer}, which is not in trusted_proxies",
            f"Add {peer} to trusted_proxies, if it is your proxy.",
        )  # fmt: skip


def _trusted(settings: RequestSettings) -> Iterator[Finding]:
    for network in settings.trusted_proxies:
        if network.prefixlen < WIDEST[network.version]:
            yield Finding(
                SUBJECT, "wrong", f"trusted_proxies has {network}: clients in it can choose the address that they are"
                " counted by", "Name the addresses of the proxies alone.",
            )  # fmt: skip


def _domain(examination: Examination) -> Iterator[Finding]:
    settings = examination.sources.settings
    if not settings.secure:
        yield Finding("domain", "note", f"it is {settings.local_domain}, which no other server can reach")
    if examination.dsn is None:
        return
    try:
        transact_once(examination.dsn, require_domain, settings, settings.base_url)
    except OtherDomain as error:
        yield Finding("domain", "wrong", str(error), "Set the domain that the data has; it can't be changed later.")
    except StorageError:
        return  # the check of the database says so
    else:
        yield Finding("domain", "good", f"{settings.local_domain} is the domain of the data")


def unreachable(subject: str, settings: ServerSettings, error: OSError) -> Finding:
    """Return that the public address does not answer, and why."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"the certificate of {settings.base_url} is not good: {error.verify_message}"
        renew = "Renew the certificate, with its chain"
        where = ", and load it into the proxy." if settings.tls_certificate is None else "."
        return Finding(subject, "wrong", text, renew + where)
    if isinstance(error, ssl.SSLError):
        return Finding(
            subject, "wrong", f"{settings.base_url} does not speak TLS: {error.reason or error}",
            "Let the proxy listen with TLS on this port, and pass plain http on to Troupe.",
        )  # fmt: skip
    return Finding(
        subject, "wrong", f"{settings.base_url} can't be reached: {error.strerror or error}",
        "Check the name in DNS, the firewall, and that the proxy runs.",
    )  # fmt: skip
