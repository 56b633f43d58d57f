"""The certificate of a server that speaks TLS itself, as the server and `troupe doctor` read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from troupe.actors.configuration import Settings
from troupe.supervision.doctor.certificate import check_certificate
from troupe.supervision.doctor.findings import Examination, Finding
from troupe.supervision.failures import CannotListen
from troupe.supervision.settings.sources import read_sources
from troupe.supervision.system.certificate import LOOK_EVERY, BadCertificate, CertificateDetails, ServerCertificate

from ..certificates import certificate
from ..stand_ins import unrecorded

DOMAIN = "troupe.test"


async def test_changed_files_are_read_without_a_signal(tmp_path: Path, autojump_clock: MockClock) -> None:
    files, said = certificate(tmp_path, hosts=[DOMAIN]), list[str]()

    def record(event: str, /, **facts: object) -> None:
        said.append(event)

    read = ServerCertificate(files.file, files.key, record)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(read.run, stopping)
        before = read.context()
        await trio.sleep(3 * LOOK_EVERY)
        assert read.context() is before
        certificate(tmp_path, hosts=[DOMAIN])
        os.utime(files.file, (0, 0))  # even if it is as long as before, and of the same moment
        await trio.sleep(LOOK_EVERY + 1)
        assert read.context() is not before
        last = read.context()
        files.key.write_text("no key")
        await trio.sleep(LOOK_EVERY + 1)
        assert read.context() is last
        stopping.set()
    assert said == ["certificate.loaded", "certificate.loaded", "certificate.refused"]


def findings(folder: Path, **environ: str) -> list[Finding]:
    files = {"TROUPE_TLS_CERTIFICATE": str(folder / "public.pem"), "TROUPE_TLS_KEY": str(folder / "key.pem")}
    return list(check_certificate(Examination(read_sources({}, {"TROUPE_DOMAIN": DOMAIN} | files | environ), None)))


@pytest.mark.parametrize(
    ("host", "days", "state", "text"),
    [
        (DOMAIN, 90.5, "good", f"it is good for {DOMAIN} until"),
        ("*.test", 90.5, "good", f"it is good for {DOMAIN} until"),
        (DOMAIN, 13.5, "wrong", "ends in 13 days, on"),
        (DOMAIN, -0.5, "wrong", "ended on"),
        ("other.test", 90.5, "wrong", f"is for other.test, and not for {DOMAIN}"),
    ],
)
def test_doctor_reads_the_certificate(tmp_path: Path, host: str, days: float, state: str, text: str) -> None:
    certificate(tmp_path, hosts=[host], days=days)
    first = findings(tmp_path)[0]
    assert (first.state, text in first.text) == (state, True), first


def test_doctor_finds_a_certificate_that_is_not_good_yet(tmp_path: Path) -> None:
    certificate(tmp_path, hosts=[DOMAIN], days=90, after=30)
    (found,) = findings(tmp_path)
    assert (found.state, "is not good before" in found.text) == ("wrong", True), found


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("public.pem", b"", "public.pem is empty"),
        ("public.pem", b"0\x82\x01", "public.pem is not in PEM form"),
        (
            "key.pem",
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "has a password",
        ),
        (
            "public.pem",
            b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
            "are not a certificate with its",
        ),
    ],
)
async def test_what_is_wrong_with_a_file_is_said_and_the_last_good_one_stays(
    tmp_path: Path, autojump_clock: MockClock, name: str, content: bytes, error: str
) -> None:
    files, said = certificate(tmp_path, hosts=[DOMAIN]), list[object]()

    def record(event: str, /, **facts: object) -> None:
        said.append(facts.get("error"))

    read, stopping = ServerCertificate(files.file, files.key, record), trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(read.run, stopping)
        good = read.context()
        (tmp_path / name).write_bytes(content)
        read.read_again()
        await trio.sleep(1)
        stopping.set()
    assert read.context() is good
    assert error in str(said[-1])


async def test_a_certificate_that_can_not_be_read_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL takes some that the library for their details does not."""
    files = certificate(tmp_path, hosts=[DOMAIN])

    def refuse(file: Path) -> CertificateDetails:
        raise BadCertificate("odd")

    monkeypatch.setattr("troupe.supervision.system.certificate.details_of", refuse)
    read = ServerCertificate(files.file, files.key, unrecorded)
    with pytest.raises(CannotListen, match="odd"):
        await read.run(trio.Event(), task_status=trio.TASK_STATUS_IGNORED)
    with pytest.raises(BadCertificate):
        read.context()


def test_doctor_finds_files_that_can_not_be_used(tmp_path: Path) -> None:
    certificate(tmp_path, hosts=[DOMAIN])
    (tmp_path / "key.pem").unlink()
    (found,) = findings(tmp_path)
    assert (found.state, found.text) == ("wrong", f"{tmp_path}/key.pem can't be read: No such file or directory")
    assert list(check_certificate(Examination(read_sources({}, {}), None))) == []


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        ({"tls_certificate": "a"}, "belong together"),
        ({"tls_key": "a"}, "belong together"),
        ({"tls_redirect_port": 80}, "without tls_certificate"),
        ({"tls_certificate": "a", "tls_key": "b", "socket": "c"}, "socket is for a proxy"),
        ({"tls_certificate": "a", "tls_key": "b", "tls_redirect_port": 3000}, "which speaks TLS"),
    ],
)
def test_settings_that_do_not_fit_are_refused(chosen: dict[str, object], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Settings.model_validate(chosen)


def test_its_addresses_are_encrypted_also_on_a_loopback_address() -> None:
    settings = Settings.model_validate({"tls_certificate": "a", "tls_key": "b", "port": 3443})
    assert (settings.base_url, settings.streaming_url) == ("https://localhost:3443", "wss://localhost:3443")
