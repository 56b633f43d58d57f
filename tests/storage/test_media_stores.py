"""The stores of media files: the same rules hold for files on the disk and in a bucket."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Protocol

import obstore
import pytest
from moto.iam.access_control import IAMPolicy, PermissionResult
from obstore.store import S3Store

from troupe.storage.buckets import PART, RETRIES, BucketAccess, BucketStore
from troupe.storage.engine.faults import BucketFailed, machine_fault
from troupe.storage.media_stores import LocalStore, MediaStore, StoredFile

from ..buckets import closed_port, new_bucket

KEY = "4f" + "0" * 30
PHOTO = f"{KEY}.jpg"
SMALL = f"{KEY}-small.webp"
TYPES = {"jpg": "image/jpeg", "webp": "image/webp"}


def bucket_store(endpoint: str, bucket: str) -> BucketStore:
    return BucketStore(
        BucketAccess(endpoint, bucket, "us-east-1", "test", "test"), lambda name: TYPES[name.rpartition(".")[2]]
    )


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MediaStore:
    if request.param == "local":
        return LocalStore(tmp_path / "media")
    endpoint = request.getfixturevalue("s3_endpoint")
    return bucket_store(endpoint, new_bucket(endpoint)["s3_bucket"])


class Put(Protocol):
    def __call__(self, name: str, content: bytes, *, withheld: bool = False) -> None: ...


@pytest.fixture
def put(store: MediaStore, tmp_path: Path) -> Put:
    def put(name: str, content: bytes, *, withheld: bool = False) -> None:
        source = tmp_path / "made"
        source.write_bytes(content)
        store.put(name, source, withheld=withheld)

    return put


def read(store: MediaStore, name: str, start: int, length: int) -> bytes:
    return b"".join(store.read(name, start, length))


def test_a_file_is_stored_as_a_whole_and_read_in_parts(store: MediaStore, put: Put) -> None:
    content = bytes(range(256)) * (3 * PART // 256 + 1)
    put(PHOTO, content)
    assert store.size(PHOTO) == len(content)
    assert read(store, PHOTO, 0, len(content)) == content
    assert read(store, PHOTO, PART - 3, PART + 9) == content[PART - 3 : 2 * PART + 6]
    assert read(store, PHOTO, len(content) - 2, 100) == content[-2:]
    assert read(store, PHOTO, 5, 0) == b""


def test_a_film_that_takes_several_requests(store: MediaStore, put: Put) -> None:
    content = b"film" * (3 * 1024 * 1024)
    put(PHOTO, content)
    assert store.size(PHOTO) == len(content)
    assert read(store, PHOTO, 6_000_000, 1000) == content[6_000_000:6_001_000]


def test_a_withheld_file_is_not_served(store: MediaStore, put: Put) -> None:
    put(PHOTO, b"photo")
    for _ in range(2):  # a repetition is no error
        store.withhold(PHOTO)
        assert store.size(PHOTO) is None
        with pytest.raises(FileNotFoundError):
            read(store, PHOTO, 0, 5)
        assert list(store.files()) == [StoredFile(PHOTO, 5, True)]
    for _ in range(2):
        store.release(PHOTO)
        assert read(store, PHOTO, 0, 5) == b"photo"
        assert list(store.files()) == [StoredFile(PHOTO, 5, False)]


def test_files_are_removed_from_both_places(store: MediaStore, put: Put) -> None:
    put(PHOTO, b"photo")
    put(SMALL, b"small", withheld=True)
    assert {*store.files()} == {StoredFile(PHOTO, 5, False), StoredFile(SMALL, 5, True)}
    store.remove([PHOTO, SMALL, f"{'a' * 32}.png"])
    assert list(store.files()) == []
    assert store.size(PHOTO) is None


def test_the_files_of_an_upload_are_found(store: MediaStore, put: Put) -> None:
    for name in (f"4f{'0' * 29}1.jpg", PHOTO, SMALL, f"4e{'f' * 30}.jpg"):
        put(name, b"photo")
    assert sorted(store.made_of(KEY)) == sorted([PHOTO, SMALL])
    assert store.made_of("a" * 32) == []


@pytest.mark.parametrize("withheld", [False, True])
def test_a_file_is_copied_for_another_store(store: MediaStore, put: Put, tmp_path: Path, withheld: bool) -> None:
    put(PHOTO, b"photo", withheld=withheld)
    store.fetch(StoredFile(PHOTO, 5, withheld), tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"photo"
    with pytest.raises(FileNotFoundError):
        store.fetch(StoredFile(SMALL, 5, withheld), tmp_path / "other")


def test_people_who_read_the_bucket_are_told_what_a_file_is(s3_endpoint: str, tmp_path: Path) -> None:
    bucket = new_bucket(s3_endpoint)
    (tmp_path / "made").write_bytes(b"photo")
    bucket_store(s3_endpoint, bucket["s3_bucket"]).put(PHOTO, tmp_path / "made")
    client = S3Store(
        bucket["s3_bucket"], endpoint=s3_endpoint, region="us-east-1", access_key_id="test", secret_access_key="test",
        client_options={"allow_http": True},
    )  # fmt: skip
    assert obstore.get(client, f"media/{PHOTO}").attributes == {
        "Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Disposition": "inline",
    }  # fmt: skip


def test_the_policy_for_buckets_lets_people_read_served_files_alone() -> None:
    """The server of these tests fails at requests without a key, so its library for policies is asked."""
    written = files("troupe.supervision").joinpath("operations/bucket-policy.json").read_text()
    policy, bucket = IAMPolicy(written.replace("BUCKET", "b")), "arn:aws:s3:::b"
    asked = [
        ("s3:GetObject", f"{bucket}/media/{PHOTO}"), ("s3:GetObject", f"{bucket}/withheld/{PHOTO}"),
        ("s3:ListBucket", bucket), ("s3:PutObject", f"{bucket}/media/{PHOTO}"),
    ]  # fmt: skip
    allowed = PermissionResult.PERMITTED
    assert [policy.is_action_permitted(*one) == allowed for one in asked] == [True, False, False, False]


@pytest.mark.parametrize("fault", ["away", "no bucket"])
def test_a_store_that_fails_is_a_fault_of_the_machine(
    request: pytest.FixtureRequest, fault: str, tmp_path: Path
) -> None:
    (tmp_path / "made").write_bytes(b"photo")
    endpoint = f"http://127.0.0.1:{closed_port()}" if fault == "away" else request.getfixturevalue("s3_endpoint")
    store = bucket_store(endpoint, "nowhere")
    with pytest.raises(BucketFailed) as failure:
        store.put(PHOTO, tmp_path / "made")
    assert machine_fault(failure.value) == "the store of media files fails"
    assert (tmp_path / "made").read_bytes() == b"photo"
    if fault == "away":
        assert f"after {RETRIES} retries" in str(failure.value)
        for work in (lambda: store.size(PHOTO), lambda: store.remove([PHOTO]), lambda: list(store.files())):
            with pytest.raises(BucketFailed):
                work()
