"""Media files in a bucket of a store that speaks S3.

    media/4f01….jpg     a served file; people may read these, if the setting `media_url` sends them there
    withheld/4f01….jpg  a file of a suspended account, which is not served

An object appears as a whole or not at all, also if it is sent in several parts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import obstore
import trio
from obstore.exceptions import BaseError
from obstore.store import S3Store

from .engine.faults import BucketFailed
from .media_stores import NAME, StoredFile

if TYPE_CHECKING:
    from obstore import ObjectMeta

# Calls at one time. They have threads of their own, so that a slow store delays nothing else.
AT_ONCE = 32
PART = 1024 * 1024  # bytes of one request: none takes long, also for a client who reads slowly
CONNECT_PATIENCE = timedelta(seconds=5)
PATIENCE = timedelta(seconds=30)  # for one request
RETRIES = 3  # after refused connections and errors of the store
RETRY_PATIENCE = timedelta(seconds=10)
SERVED, WITHHELD = "media/", "withheld/"
# A file never changes under its name.
CACHE_CONTROL = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """The address of a bucket, and the keys to it. `endpoint` is None for Amazon."""

    endpoint: str | None
    bucket: str
    region: str
    access_key: str
    secret_key: str


class BucketStore:
    """Files in a bucket. `content_type` returns the type of a file, with which the store serves it."""

    def __init__(self, access: BucketAccess, content_type: Callable[[str], str]) -> None:
        self.limiter: trio.CapacityLimiter | None = trio.CapacityLimiter(AT_ONCE)
        self._content_type = content_type
        self._store = S3Store(
            access.bucket,
            endpoint=access.endpoint or f"https://s3.{access.region}.amazonaws.com",
            region=access.region,
            access_key_id=access.access_key,
            secret_access_key=access.secret_key,
            client_options={
                "allow_http": (access.endpoint or "").startswith("http://"),
                "connect_timeout": CONNECT_PATIENCE,
                "timeout": PATIENCE,
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_PATIENCE},
        )

    def put(self, name: str, source: Path, *, withheld: bool = False) -> None:
        attributes = {
            "Content-Type": self._content_type(name), "Cache-Control": CACHE_CONTROL, "Content-Disposition": "inline",
        }  # fmt: skip
        with _failures(missing=True):
            obstore.put(self._store, _key(name, withheld=withheld), source, attributes=attributes)

    def withhold(self, name: str) -> None:
        self._rename(SERVED + name, WITHHELD + name)

    def release(self, name: str) -> None:
        self._rename(WITHHELD + name, SERVED + name)

    def _rename(self, source: str, target: str) -> None:
        with _failures(), suppress(FileNotFoundError):
            obstore.rename(self._store, source, target)

    def remove(self, names: Iterable[str]) -> None:
        # The first place once more: the file may have been moved back meanwhile.
        names = list(names)
        for place in (SERVED, WITHHELD, SERVED):
            with _failures(), suppress(FileNotFoundError):
                obstore.delete(self._store, [place + name for name in names])

    def size(self, name: str, opened: Callable[[int], object] | None = None) -> int | None:
        with _failures(), suppress(FileNotFoundError):
            return obstore.head(self._store, SERVED + name)["size"]
        return None

    def read(self, name: str, start: int, length: int) -> Generator[bytes]:
        while length > 0:
            wanted = min(length, PART)
            with _failures():
                data = bytes(obstore.get_range(self._store, SERVED + name, start=start, length=wanted))
            yield data
            # A short piece is the end of the file.
            start, length = start + wanted, length - wanted if len(data) == wanted else 0

    def fetch(self, file: StoredFile, target: Path) -> None:
        with target.open("wb") as output:
            self._copy(_key(file.name, withheld=file.withheld), output)

    def open(self, name: str) -> IO[bytes] | None:
        """Open a copy on the disk, which is deleted when it is closed."""
        for place in (SERVED, WITHHELD, SERVED):
            copy = TemporaryFile()  # noqa: SIM115 - the caller closes it
            try:
                self._copy(place + name, copy)
            except FileNotFoundError:
                copy.close()
            else:
                copy.seek(0)
                return copy
        return None

    def _copy(self, key: str, output: IO[bytes]) -> None:
        with _failures():
            for data in obstore.get(self._store, key):
                output.write(data)

    def made_of(self, key: str) -> list[str]:
        """Return the names that begin with a key. The store lists names in order, so the search starts at the key."""
        names: list[str] = []
        with _failures():
            for page in self._pages(SERVED, SERVED + key):
                names += [
                    entry["path"].removeprefix(SERVED) for entry in page if entry["path"].startswith(SERVED + key)
                ]
                if not page[-1]["path"].startswith(SERVED + key):
                    break
        return names

    def files(self) -> Iterator[StoredFile]:
        for place in (SERVED, WITHHELD):
            with _failures():
                for page in self._pages(place):
                    for entry in page:
                        if NAME.fullmatch(name := entry["path"].removeprefix(place)):
                            yield StoredFile(name, entry["size"], place == WITHHELD)

    def _pages(self, place: str, after: str | None = None) -> Iterator[Sequence[ObjectMeta]]:
        """Return the objects of a place after a key, in pages."""
        # Its types allow for a library that is not installed.
        return obstore.list(self._store, place.rstrip("/"), offset=after)  # pyright: ignore[reportUnknownMemberType]


def _key(name: str, *, withheld: bool) -> str:
    return (WITHHELD if withheld else SERVED) + name


@contextmanager
def _failures(*, missing: bool = False) -> Generator[None]:
    """Raise BucketFailed for the errors of the library. A missing object is FileNotFoundError, or one of them too."""
    try:
        yield
    except BaseError as error:
        raise BucketFailed(str(error).partition("\n")[0]) from error
    except FileNotFoundError as error:
        if missing:  # the bucket itself
            raise BucketFailed("there is no such bucket") from error
        raise
