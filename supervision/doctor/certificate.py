"""The certificate of a server that speaks TLS itself: readable, for its name, and not about to end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ..system.certificate import BadCertificate, context_of, details_of
from .findings import Examination, Finding
from .public_address import public_address

SUBJECT = "certificate"
SOON = timedelta(days=14)
RENEW = "Renew it. The server reads the new files by itself."


def check_certificate(examination: Examination) -> Iterator[Finding]:
    """Read the files of the settings. Nothing is found for a server behind a proxy, whose certificate the proxy has."""
    settings = examination.sources.settings
    if settings.tls_certificate is None or settings.tls_key is None:
        return
    try:
        context_of(settings.tls_certificate, settings.tls_key)
        details = details_of(settings.tls_certificate)
    except BadCertificate as error:
        yield Finding(
            SUBJECT,
            "wrong",
            str(error),
            "Correct the files that tls_certificate and tls_key name, or the settings. The server reads changed files"
            " by itself.",
        )
        return
    host, left = public_address(settings).host, details.until - datetime.now(UTC)
    if not details.is_for(host):
        names = ", ".join(details.names) or "no name"
        yield Finding(
            SUBJECT, "wrong", f"{settings.tls_certificate} is for {names}, and not for {host}", f"Get one for {host}."
        )
    if details.since > datetime.now(UTC):
        yield Finding(
            SUBJECT, "wrong", f"{settings.tls_certificate} is not good before {details.since:%Y-%m-%d %H:%M} UTC",
            "Check the clock of this machine, or use another certificate until then.",
        )  # fmt: skip
    elif left < timedelta():
        yield Finding(SUBJECT, "wrong", f"{settings.tls_certificate} ended on {details.until:%Y-%m-%d}", RENEW)
    elif left < SOON:
        text = f"{settings.tls_certificate} ends in {left.days} days, on {details.until:%Y-%m-%d}"
        yield Finding(SUBJECT, "wrong", text, RENEW)
    else:
        yield Finding(SUBJECT, "good", f"it is good for {host} until {details.until:%Y-%m-%d}")
