"""The server's Web Push key (VAPID, RFC 8292): made once and stored in the database, so every node has the same."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from ...storage.engine.database import Database
from ...storage.push_key import find_push_key, insert_push_key

# The library for keys takes 7 MiB, and a start needs only the public half: the functions that need it import it.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec

# A key as `_pem` writes it, in DER (RFC 5208, RFC 5915): these bytes around the private number and the public point.
BEFORE_NUMBER = bytes.fromhex("308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420")
BEFORE_POINT = bytes.fromhex("a144034200")
NUMBER_BYTES, POINT_BYTES = 32, 65
FIRST_LINE, LAST_LINE = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"


class UnusablePushKey(Exception):
    """The key file of an earlier version can't be read."""


class PushKey:
    """The key pair of this process, once it is loaded. `public` is the half that clients get."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` is where earlier versions kept the key; if it exists, its key moves into the database."""
        self._file = file
        self._pem = ""
        self._private: ec.EllipticCurvePrivateKey | None = None
        self.public = ""

    @property
    def private(self) -> ec.EllipticCurvePrivateKey:
        """The half that signs."""
        if self._private is None:
            self._private = push_key_of(self._pem)
        return self._private

    def hold(self, pem: str) -> None:
        """Use this key. Raises ValueError if the text is no key."""
        self.public = _public_half(pem)
        self._pem, self._private = pem, None

    async def load(self, database: Database) -> None:
        """Read the key from the database; if there is none, store the one of the file, or a new one.

        The file is removed once the database has its key. A file with another key stays where it is: only its operator
        can know which of the two the subscriptions are bound to.
        """
        earlier = push_key_in(self._file)
        stored = await database.read(find_push_key)
        stored = stored or await database.transact(insert_push_key, earlier or new_push_key())
        self.hold(stored)
        if self._file is not None and earlier == stored:
            self._file.unlink(missing_ok=True)


def push_key_in(file: Path | None) -> str | None:
    """Return the key of a file of an earlier version, if there is one.

    Raises UnusablePushKey if the file holds no key.
    """
    if file is None or not file.exists():
        return None
    try:
        return _pem(push_key_of(file.read_text("ascii")))
    except (ValueError, TypeError) as error:
        raise UnusablePushKey(
            f"{file} holds no key for Web Push: restore it from a backup, or remove it, and apps that had"
            " subscribed to notifications must do it again"
        ) from error


def new_push_key() -> str:
    """Return a new key as it is stored, in PEM."""
    # Late: see the top.
    from cryptography.hazmat.primitives.asymmetric import ec

    return _pem(ec.generate_private_key(ec.SECP256R1()))


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    # Late: see the top.
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")


def push_key_of(pem: str) -> ec.EllipticCurvePrivateKey:
    """Return the private key of a PEM text. Raises ValueError if it is none on the curve P-256, as RFC 8292 wants."""
    # Late: see the top.
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem.encode("ascii"), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a private key on the curve P-256")
    return key


def _public_half(pem: str) -> str:
    """Return the public half as clients want it: base64url of the uncompressed point, without padding."""
    point = written_point(pem) or _point_of(push_key_of(pem))
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


def written_point(pem: str) -> bytes | None:
    """Return the public point that stands at the end of a key, if `_pem` has written it."""
    inner = pem.strip().removeprefix(FIRST_LINE).removesuffix(LAST_LINE)
    try:
        key = base64.b64decode("".join(inner.split()), validate=True)
    except ValueError:
        return None
    number, point = key[len(BEFORE_NUMBER) :][:NUMBER_BYTES], key[-POINT_BYTES:]
    return point if key == BEFORE_NUMBER + number + BEFORE_POINT + point else None


def _point_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    # Late: see the top.
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
