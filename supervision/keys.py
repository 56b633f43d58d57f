"""The server's Web Push key (VAPID, RFC 8292): made once, kept in the data folder."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import cast

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def vapid_public_key(data: Path) -> str:
    """The public half as clients want it: base64url of the uncompressed point, without padding."""
    point = _private_key(data / "vapid.pem").public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )  # fmt: skip
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


def _private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    if not path.exists():
        _make(path)
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    return cast("ec.EllipticCurvePrivateKey", key)


def _make(path: Path) -> None:
    """Written beside its place and moved there, so that a killed process leaves no half a key."""
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    new = path.with_suffix(".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
