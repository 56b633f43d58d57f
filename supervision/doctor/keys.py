"""The keys with which the server signs: present, readable, and matching the public keys that other servers know."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ...actors.activitypub.keys import public_pem
from ...actors.memory.push_key import UnusablePushKey, push_key_in, push_key_of
from ...storage.engine.connect import transact_once
from ...storage.engine.database import Connection, StorageError
from ...storage.federation import signing_keys
from ...storage.federation.signing_keys import KeyPair
from ...storage.push_key import find_push_key
from .findings import Examination, Finding

SUBJECT = "keys"
MOST = 1000  # of accounts, the newest: each takes a tenth of a millisecond
BACKUP = "Restore it from a backup of the database."
REPLACE = "`troupe accounts rotate-keys NAME` makes a new key and sends it to other servers."


def check_keys(examination: Examination) -> Iterator[Finding]:
    """Read the keys of the database, and a key that an earlier version has left in the data folder."""
    if examination.dsn is None:
        return  # the check of the database says so
    try:
        yield from _signing(transact_once(examination.dsn, _pairs))
        yield from _push(examination, transact_once(examination.dsn, find_push_key))
    except StorageError as error:
        yield Finding(SUBJECT, "note", f"they can't be read: {error}", "See the findings about the database.")


async def _pairs(db: Connection) -> list[KeyPair]:
    server = await signing_keys.find(db, None)
    return ([server] if server else []) + await signing_keys.newest(db, MOST)


def _signing(pairs: list[KeyPair]) -> Iterator[Finding]:
    wrong = [pair for pair in pairs if not _fits(pair)]
    for pair in wrong:
        whose = pair.uri or "the server itself"
        text = f"the private key of {whose} does not fit its public key: other servers refuse its signatures"
        yield Finding(SUBJECT, "wrong", text, REPLACE if pair.uri else BACKUP)
    if not wrong:
        yield Finding(SUBJECT, "good", f"{len(pairs)} key pairs for signatures fit (they are made when first needed)")


def _fits(pair: KeyPair) -> bool:
    try:
        # The quality of the key was tested when it was made. Here the check is if it belongs to the public key.
        key = load_pem_private_key(pair.private_key.encode("ascii"), None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError):
        return False
    return isinstance(key, RSAPrivateKey) and public_pem(key).strip() == pair.public_key.strip()


def _push(examination: Examination, stored: str | None) -> Iterator[Finding]:
    file = examination.sources.settings.data / "vapid.pem"
    try:
        of_file = push_key_in(file)
    except (UnusablePushKey, OSError) as error:
        yield Finding(SUBJECT, "wrong", str(error), f"Restore or remove {file}.")
        return
    if stored is None:
        yield Finding(SUBJECT, "note", "no key for Web Push yet: the server makes it at its first start")
        return
    try:
        push_key_of(stored)
    except (ValueError, TypeError):
        yield Finding(SUBJECT, "wrong", "the key for Web Push in the database can't be read", BACKUP)
        return
    if of_file not in (None, stored):
        yield Finding(
            SUBJECT, "wrong", f"{file} has another key for Web Push than the database, which counts",
            f"Remove {file}, unless the database was replaced by mistake.",
        )  # fmt: skip
    else:
        yield Finding(SUBJECT, "good", "the key for Web Push can be read")
