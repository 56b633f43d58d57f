"""The server's Web Push key (VAPID, RFC 8292): made once and stored in the database, so every node has the same."""

from __future__ import annotations

import base64
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from ..storage.engine.database import Database
from ..storage.push_key import find_push_key, insert_push_key


class UnusablePushKey(Exception):
    """The key file of an earlier version can't be read."""


class PushKey:
    """The key pair of this process, once it is loaded. `public` is the half that clients get."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` is where earlier versions kept the key; if it exists, its key moves into the database."""
        self._file = file
        self.public = ""
        self.private: ec.EllipticCurvePrivateKey | None = None

    async def load(self, database: Database) -> None:
        """Read the key from the database; if there is none, store the one of the file, or a new one.

        The file is removed once the database has its key. A file with another key stays where it is: only its operator
        can know which of the two the subscriptions are bound to.
        """
        earlier = push_key_in(self._file)
        stored = await database.read(find_push_key)
        stored = stored or await database.transact(insert_push_key, earlier or _new_key())
        self.private = push_key_of(stored)
        self.public = _public_half(self.private)
        if self._file is not None and earlier == stored:
            self._file.unlink(missing_ok=True)


def push_key_in(file: Path | None) -> str | None:
    """Return the key of a file of an earlier version, if there is one. Raises UnusablePushKey if it holds none."""
    if file is None or not file.exists():
        return None
    try:
        return _pem(push_key_of(file.read_text("ascii")))
    except (ValueError, TypeError) as error:
        raise UnusablePushKey(
            f"{file} holds no key for Web Push: restore it from a backup, or remove it, and apps that had"
            " subscribed to notifications must do it again"
        ) from error


def _new_key() -> str:
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def push_key_of(pem: str) -> ec.EllipticCurvePrivateKey:
    """Return the private key of a PEM text. Raises ValueError if it is none on the curve P-256, as RFC 8292 wants."""
    key = load_pem_private_key(pem.encode("ascii"), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a private key on the curve P-256")
    return key


def _public_half(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public half as clients want it: base64url of the uncompressed point, without padding."""
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()
