"""TLS certificates that sign themselves, for servers of the tests."""

from __future__ import annotations

import base64
import hashlib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the server has, the file by which a client trusts it, and what browsers know its key by."""

    server: ssl.SSLContext
    file: Path
    key: Path
    fingerprint: str


def certificate(
    folder: Path, *, hosts: Sequence[str] = (), addresses: Sequence[str] = (), days: float = 1, after: float = -1
) -> Certificate:
    """Make a certificate for names and IP addresses in this folder.

    It is good until in a day, or in so many, and from yesterday on, or `after` so many.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of the tests")])
    now = datetime.now(UTC)
    subjects = [*map(x509.DNSName, hosts), *(x509.IPAddress(ip_address(one)) for one in addresses)]
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=min(after, days - 0.1)))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    both, public, alone = folder / "both.pem", folder / "public.pem", folder / "key.pem"
    public.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both.write_bytes(private + public.read_bytes())
    alone.write_bytes(private)
    spki = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(both)
    return Certificate(server, public, alone, base64.b64encode(hashlib.sha256(spki).digest()).decode())
