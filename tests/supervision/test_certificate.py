"""The certificate of a server that speaks TLS itself, as the server and `troupe doctor` read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from troupe.supervision.certificate import LOOK_EVERY, ServerCertificate
from troupe.supervision.configuration import Settings
from troupe.supervision.doctor.certificate import check_certificate
from troupe.supervision.doctor.findings import Examination, Finding
from troupe.supervision.sources import read_sources

from ..certificates import certificate

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
