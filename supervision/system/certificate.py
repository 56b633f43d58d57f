"""The TLS certificate of a server that encrypts by itself, without a proxy in front.

It is read again when its files change, and at a SIGHUP. Open connections keep the old certificate; none is cut.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import trio

from ...actors.configuration import ServerSettings
from ...actors.kernel import Record
from ..failures import CannotListen, text_of

LOOK_EVERY = 30.0  # seconds between two looks at the files
PROTOCOLS = ("h2", "http/1.1")


class BadCertificate(Exception):
    """Raised for files that are no certificate with its key, with the reason."""


class ServerCertificate:
    """The certificate that new connections get."""

    def __init__(self, certificate: Path, key: Path, record: Record) -> None:
        self._certificate = certificate
        self._key = key
        self._record = record
        self._seen: Sequence[object] = ()
        self._asked = trio.Event()
        self._loaded: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of the next handshake."""
        if self._loaded is None:
            raise BadCertificate("no certificate was read yet")
        return self._loaded

    def read_again(self) -> None:
        """Read the files at once, whether they have changed or not."""
        self._seen = ()
        self._asked.set()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Read the files, and read them again when they change. Raises CannotListen if they are bad at the start."""
        try:
            self._load()
        except BadCertificate as error:
            raise CannotListen(str(error)) from error
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _watch(self) -> None:
        while True:
            with trio.move_on_after(LOOK_EVERY):
                await self._asked.wait()
            self._asked = trio.Event()
            if self._seen != self._state():
                try:
                    self._load()
                except BadCertificate as error:
                    self._record(
                        "certificate.refused", error=str(error), decision="new connections get the last good one"
                    )

    def _load(self) -> None:
        self._seen = self._state()
        context, until = context_of(self._certificate, self._key), details_of(self._certificate).until
        self._loaded = context
        self._record("certificate.loaded", decision=f"new connections get the one that ends on {until:%Y-%m-%d}")

    def _state(self) -> Sequence[object]:
        """Return values that differ after a file was changed or replaced."""
        return [_stat(self._certificate), _stat(self._key)]


def certificate_of(settings: ServerSettings, record: Record) -> ServerCertificate | None:
    """Return the certificate that the settings name; None for a server behind a proxy."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return ServerCertificate(settings.tls_certificate, settings.tls_key, record)


@dataclass(frozen=True, slots=True)
class CertificateDetails:
    """The names that a certificate is good for, its beginning and its end."""

    names: tuple[str, ...]
    since: datetime
    until: datetime

    def is_for(self, host: str) -> bool:
        """True if clients take it for a server of this name, by RFC 6125."""
        return any(_fits(name.lower(), host) for name in self.names)


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context for the handshakes of a server. Raises BadCertificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(PROTOCOLS)
    try:
        # A key with a password would be asked for on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except ssl.SSLError as error:
        why = _unusual(certificate) or _unusual(key)
        raise BadCertificate(
            why or f"{certificate} and {key} are not a certificate with its private key: {error.reason or error}"
        ) from error
    except OSError as error:
        readable = _first_unreadable(certificate, key)
        raise BadCertificate(f"{readable} can't be read: {text_of(error)}") from error
    return context


def details_of(certificate: Path) -> CertificateDetails:
    """Return the facts in a certificate. Raises BadCertificate."""
    from cryptography import x509  # late: only servers without a proxy need it

    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        extensions = read.extensions
    except (OSError, ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise BadCertificate(f"{certificate} is no certificate: {error}") from error
    names: tuple[str, ...] = ()
    with suppress(x509.ExtensionNotFound):
        of_hosts = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = tuple(of_hosts.get_values_for_type(x509.DNSName))
    return CertificateDetails(names, read.not_valid_before_utc, read.not_valid_after_utc)


def _fits(name: str, host: str) -> bool:
    """True if a name of a certificate is this host, or `*` and its parent domain."""
    return name == host or (name.startswith("*.") and host.partition(".")[2] == name[2:])


def _unusual(file: Path) -> str | None:
    """Return the cause, if OpenSSL only says that it can't read a file."""
    content = file.read_bytes()
    if not content.strip():
        return f"{file} is empty"
    if b"-----BEGIN " not in content:
        return f"{file} is not in PEM form, which begins with -----BEGIN"
    return f"the key in {file} has a password: store it without one" if b"ENCRYPTED" in content else None


def _stat(file: Path) -> object:
    try:
        found = file.stat()
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_mtime_ns, found.st_size


def _first_unreadable(*files: Path) -> Path:
    """Return the file that can't be read, which OpenSSL does not name."""
    for file in files:
        try:
            file.open("rb").close()
        except OSError:
            return file
    return files[0]
