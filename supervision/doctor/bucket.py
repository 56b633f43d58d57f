"""The bucket for media: whether the server may use it as it must, and who else may read the files."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from ...actors.configuration import LOOPBACK, StorageSettings
from ...storage.engine.faults import BucketFailed
from ...storage.media_stores import MediaStore
from ..settings.media_folders import media_store
from .findings import Examination, Finding
from .public_address import PublicAddress, ask

SUBJECT = "bucket"
CONTENT = b"troupe doctor has written this, and removes it again.\n"
# S3 refuses requests that were signed more than 15 minutes before or after its own time.
MOST_APART = timedelta(minutes=5)
CODE = re.compile(r"<Code>(\w+)</Code>")
ADDRESS_CURE = "Check s3_endpoint and s3_region, the name in DNS, and that no firewall is between."
KEYS_CURE = "Check s3_access_key and s3_secret_key."
# By the codes with which S3 refuses.
CURES = {
    "NoSuchBucket": "Make the bucket, or correct s3_bucket.",
    "InvalidAccessKeyId": KEYS_CURE,
    "SignatureDoesNotMatch": KEYS_CURE,
    "AccessDenied": "Let the key read, write, list and delete objects of the bucket.",
    "RequestTimeTooSkewed": "Set this machine's clock: timedatectl set-ntp true.",
}
POLICY = "Make the objects under media/ public, and no others: bucket-policy.json in supervision/operations."


@dataclass(slots=True)
class Probe:
    """A small object that is written, read, withheld and removed, as files are."""

    store: MediaStore
    name: str
    step: str = "write"  # the step in progress

    def write(self) -> None:
        self.step = "write"
        with TemporaryDirectory() as folder:
            source = Path(folder) / self.name
            source.write_bytes(CONTENT)
            self.store.put(self.name, source)

    def read(self) -> None:
        self.step = "read"
        if b"".join(self.store.read(self.name, 0, len(CONTENT))) != CONTENT:
            raise BucketFailed("the store returns other contents than were written")
        self.step = "list"
        if self.store.made_of(self.name.partition(".")[0]) != [self.name]:
            raise BucketFailed("the store does not list a written file")

    def withhold(self) -> None:
        self.step = "move"
        self.store.withhold(self.name)

    def remove(self) -> None:
        self.step = "delete"
        self.store.remove([self.name])
        if self.store.size(self.name) is not None:
            raise BucketFailed("a deleted file is still in the store")


def check_bucket(examination: Examination) -> Iterator[Finding]:
    """Compare the clocks, and write, read, list and delete a small object as the server does with files."""
    settings = examination.sources.settings
    if settings.media_store != "s3":
        return
    yield from _clock(settings)
    probe = Probe(media_store(settings, "s3"), f"{secrets.token_hex(16)}.txt")
    try:
        probe.write()
        try:
            probe.read()
            yield from _public(settings, examination, f"media/{probe.name}", is_readable=True)
            probe.withhold()
            yield from _public(settings, examination, f"withheld/{probe.name}", is_readable=False)
            probe.remove()
        finally:
            with suppress(OSError):
                probe.store.remove([probe.name])
    except OSError as error:
        code = _code(error)
        text = f"can't {probe.step} objects of {settings.s3_bucket}: {code or error}"
        yield Finding(SUBJECT, "wrong", text, CURES.get(code, ADDRESS_CURE))
        return
    yield Finding(SUBJECT, "good", f"{settings.s3_bucket}: objects can be written, read, listed, moved and deleted")


def _code(error: OSError) -> str:
    """Return the error code of the store's refusal; empty if it sent none."""
    found = CODE.search(str(error.__cause__))
    return found[1] if found else "NoSuchBucket" if "no such bucket" in str(error) else ""


def _clock(settings: StorageSettings) -> Iterator[Finding]:
    """Compare the clock with the store's clock, which is in each of its answers, also in a refusal."""
    endpoint = settings.s3_endpoint or f"https://s3.{settings.s3_region}.amazonaws.com"
    try:
        there = parsedate_to_datetime(ask(_address(endpoint), "/", {}).headers["date"])
    except (OSError, KeyError, ValueError):  # if it can't be reached at all, the next check says so
        return
    apart = abs(datetime.now(UTC) - there)
    if apart > MOST_APART:
        yield Finding(
            SUBJECT, "wrong", f"the clock of the store differs by {apart.total_seconds() / 60:.0f} minutes, and it"
            " refuses requests of more than 15", CURES["RequestTimeTooSkewed"],
        )  # fmt: skip


def _public(settings: StorageSettings, examination: Examination, key: str, *, is_readable: bool) -> Iterator[Finding]:
    """Request an object without a key at the public address: a served object, or a withheld object."""
    if settings.media_url is None:
        return
    address, url = _address(settings.media_url), f"{settings.media_url}/{key.partition('/')[0]}/"
    if address.online and not examination.online:
        if is_readable:  # once is enough
            yield Finding(SUBJECT, "note", f"{settings.media_url} was not asked: add --online")
        return
    try:
        answer = ask(address, f"{urlsplit(settings.media_url).path}/{key}", {})
    except OSError as error:
        yield Finding(SUBJECT, "wrong", f"{settings.media_url} can't be reached: {error}", "Check media_url and DNS.")
        return
    reads = answer.status == 200 and answer.body == CONTENT
    if is_readable and not reads:
        yield Finding(SUBJECT, "wrong", f"people can't read files at {url}: the answer is {answer.status}", POLICY)
    elif reads and not is_readable:
        yield Finding(SUBJECT, "wrong", f"files of suspended accounts are public at {url}", POLICY)


def _address(url: str) -> PublicAddress:
    parts = urlsplit(url)
    secure, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    return PublicAddress(secure, host, port, (host, port), host not in LOOPBACK)
