"""`troupe doctor`: each check, by breaking what it checks. The database is in `test_doctor_database.py`, proxies and
WebSockets are in `tests/end_to_end/test_doctor.py`.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from troupe.actors.kernel.clock import first_id_at, instant_of_id
from troupe.actors.mail import smtp
from troupe.storage.engine.data_folder import make_private
from troupe.supervision.commands import troupe
from troupe.supervision.doctor import checks, confinement, descriptors, disk, permissions, proxy
from troupe.supervision.doctor.clock import check_clock, judge_ids
from troupe.supervision.doctor.clock import evaluate as judge_clock
from troupe.supervision.doctor.confinement import check_confinement
from troupe.supervision.doctor.findings import Check, Examination, Finding
from troupe.supervision.doctor.permissions import check_permissions
from troupe.supervision.doctor.public_address import public_address
from troupe.supervision.doctor.smtp import NO_TLS_AT_FIRST, TLS_AT_FIRST, WRONG_CERTIFICATE, check_smtp
from troupe.supervision.settings.sources import read_sources

from ..certificates import certificate
from ..mail.mailserver import mail_server
from ..small_disks import fill, small_disk
from ..stand_ins import answering

Examine = Callable[..., list[Finding]]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Run a check on settings, without a database and without a server unless they are given."""
    monkeypatch.chdir(tmp_path)

    def examined(
        check: Check, *, server: dict[str, object] | None = None, mail_to: str | None = None, **environ: str
    ) -> list[Finding]:
        sources = read_sources({}, environ)
        return list(check(Examination(sources, None, "not asked", server, mail_to=mail_to)))

    return examined


def wrong(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.state == "wrong"]


def test_everything_wrong_has_a_cure_and_the_exit_code_says_so(tmp_path: Path) -> None:
    """Without a database at all: the command works, and finds that."""
    done = CliRunner().invoke(troupe, ["doctor", "--json", "--data", str(tmp_path / "data")])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    bad = [one for one in found if one["state"] == "wrong"]
    assert [one["text"] for one in bad] == [f"it can't be asked: there is none in {tmp_path / 'data'}"]
    assert all(one["cure"] for one in bad)
    assert {one["subject"] for one in found} >= {"database", "disk", "clock", "descriptors", "media", "proxy", "mail"}
    said = CliRunner().invoke(troupe, ["doctor", "--data", str(tmp_path / "data")])
    assert said.stdout.endswith(f"\n1 of {len(found)} findings is wrong.\n")
    assert "→ Start the server once" in said.stdout


def test_a_check_that_fails_is_a_finding_and_does_not_end_the_others(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(examination: Examination) -> list[Finding]:
        raise LookupError("no such thing")

    monkeypatch.setattr(checks, "CHECKS", (broken, disk.check_disk))
    found = examine(checks.examine)
    assert [(one.state, one.subject) for one in found][1:] == [("good", "disk")]
    assert found[0].text == "the check itself failed: LookupError: no such thing"


def test_a_disk_that_is_nearly_full_or_has_no_files_left_is_found(examine: Examine, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "8m") as small:
        fill(small / "full")
        assert wrong(examine(disk.check_disk, TROUPE_DATA=str(small / "data"))) == [
            f"data, media, database ({small}): 0 MiB free of 8 MiB; an hour of work may need 2.0 GiB"
        ]
    with small_disk(tmp_path / "few", "4g", nr_inodes="100") as few:
        assert wrong(examine(disk.check_disk, TROUPE_DATA=str(few))) == [
            f"data, media, database ({few}): 4.0 GiB free of 4.0 GiB, but only 99 more files can be made"
        ]


def test_each_disk_is_looked_at_once_and_that_of_the_log_too(examine: Examine, tmp_path: Path) -> None:
    assert len(examine(disk.check_disk)) == 1
    with small_disk(tmp_path / "log", "8m") as small:
        log = small / "mine.log"
        for name in ("mine.log", "mine.log.1"):
            (small / name).write_bytes(bytes(2 * disk.MIB))
        data, of_log = examine(disk.check_disk, TROUPE_LOG_TO="file", TROUPE_LOG_FILE=str(log), TROUPE_LOG_FILES="4")
        assert (data.state, of_log.state) == ("good", "wrong")
        assert of_log.text.startswith(f"log ({small}): 4 MiB free of 8 MiB")
        assert f"The log {log} and the older files beside it take 4 MiB, and may take 250 MiB:" in of_log.cure
        assert "media" not in of_log.cure, "they are on another disk"


def test_a_clock_that_differs_from_the_databases_is_found() -> None:
    later = NOW + timedelta(seconds=60)
    assert judge_clock(NOW, NOW - timedelta(seconds=6), NOW).state == "wrong"
    assert judge_clock(NOW, NOW + timedelta(seconds=6), NOW).text.startswith("the database's clock differs by 6 s")
    assert judge_clock(NOW, NOW + timedelta(seconds=30), later).state == "good", "asking may take long"


@pytest.mark.parametrize(
    ("newest", "texts"),
    [
        (NOW - timedelta(days=400), []),
        (NOW + timedelta(minutes=5), []),
        (NOW + timedelta(hours=3), ["the clock was ahead once: ids go on from 2026-11-21, 3 hours from now"]),
        (NOW + timedelta(days=365), ["the clock was ahead once: ids go on from 2027-11-21, 365 days from now"]),
    ],
)
def test_ids_of_a_clock_that_was_ahead_are_told(newest: datetime, texts: list[str]) -> None:
    assert [one.text.partition(". ")[0] for one in judge_ids(newest, NOW)] == texts
    assert instant_of_id(first_id_at(newest)) == newest


@pytest.mark.parametrize(("says", "state"), [("no", "wrong"), ("yes", "good"), (None, "note")])
def test_what_systemd_says_of_the_clock_is_told(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str | None, state: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if says is not None:
        program = tmp_path / "timedatectl"
        program.write_text(f"#!/bin/sh\n[ \"$*\" = 'show --property=NTPSynchronized --value' ] && echo {says}\n")
        program.chmod(0o755)
    assert [one.state for one in examine(check_clock)] == [state]


def test_few_descriptors_are_found_with_a_server_and_without_one(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors.resource, "getrlimit", answering((1024, 2048)))
    assert wrong(examine(descriptors.check_descriptors)) == [
        "2048 for a server that is started from here: too few for many clients"
    ]
    check, server = descriptors.check_descriptors, {"descriptor_limit": 65536, "descriptors": 100}
    assert wrong(examine(check, server=server)) == []
    assert wrong(examine(check, server=server | {"descriptors": 60000})) == [
        "60000 of 65536 in use: further clients will soon get 503"
    ]


def test_the_sandbox_holds_here_and_each_missing_step_has_its_cure(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wrong(examine(check_confinement)) == []
    missing = [*confinement.CURES]
    assert [finding.cure for finding in confinement.evaluate(missing)] == [*confinement.CURES.values()]
    assert next(confinement.evaluate(["gravity"])).cure == confinement.OTHER
    # A program that decodes nothing, and that the confined process can't run either.
    monkeypatch.setattr(confinement.shutil, "which", "/nowhere/{}".format)
    assert wrong(examine(check_confinement))[0].startswith("files of strangers are decoded without a way to run")


def test_without_ffmpeg_films_are_refused_and_that_is_said(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement.shutil, "which", answering(None))
    assert [one.state for one in examine(check_confinement)] == ["good", "note"]


def test_a_server_that_does_not_answer_is_found(short_data: Path) -> None:
    """A socket on which nobody accepts, as that of a server whose loop is held up."""
    with socket.socket(socket.AF_UNIX) as held_up:
        held_up.bind(str(short_data / "control-main.sock"))
        held_up.listen()
        threading.Thread(target=lambda: held_up.accept()[0].close(), daemon=True).start()
        done = CliRunner().invoke(troupe, ["doctor", "--json", "--data", str(short_data)])
    found = [one for one in json.loads(done.stdout) if one["subject"] == "server"]
    assert [one["state"] for one in found] == ["wrong"]
    assert "can't be asked" in found[0]["text"]


@pytest.fixture
def short_data(tmp_path: Path) -> Path:
    make_private(tmp_path / "data")
    return tmp_path / "data"


# Permissions


def test_what_others_may_use_is_found_and_the_cure_closes_it(examine: Examine, tmp_path: Path) -> None:
    data = tmp_path / "data"
    make_private(data)
    file, environ = data / "base_url", {"TROUPE_DATA": str(data)}
    file.write_text("")
    file.chmod(0o600)
    assert wrong(examine(check_permissions, **environ)) == []
    file.chmod(0o644)
    data.chmod(0o755)
    found = [one for one in examine(check_permissions, **environ) if one.state == "wrong"]
    assert [one.text for one in found] == [
        f"others may use {data} (drwxr-xr-x)", f"others may use {file} (-rw-r--r--)"
    ]  # fmt: skip
    for one in found:
        subprocess.run(one.cure, shell=True, check=True)
    assert wrong(examine(check_permissions, **environ)) == []


def test_a_data_folder_of_another_user_is_found(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    make_private(data)
    os.chown(data, 65_533, -1)
    assert wrong(examine(check_permissions, TROUPE_DATA=str(data))) == [], "root's PostgreSQL is another user's"
    monkeypatch.setattr(os, "geteuid", lambda: 65_532)
    assert wrong(examine(check_permissions, TROUPE_DATA=str(data))) == [
        f"{data} belongs to user 65533, and this command runs as user 65532"
    ]


def test_files_with_secrets_that_others_may_read_are_found(examine: Examine, tmp_path: Path) -> None:
    config, secret = tmp_path / "troupe.toml", tmp_path / "smtp password"
    config.write_text('translation_key = "hidden"\ntitle = "T"\n')
    secret.write_text("hidden")
    for path in (config, secret):
        path.chmod(0o640)
    assert wrong(examine(check_permissions, TROUPE_SMTP_PASSWORD_FILE=str(secret))) == []
    for path in (config, secret):
        path.chmod(0o644)
    assert wrong(examine(check_permissions, TROUPE_SMTP_PASSWORD_FILE=str(secret))) == [
        f"{secret} holds a secret, and others may use it (-rw-r--r--)",
        f"{Path('troupe.toml')} holds a secret, and others may use it (-rw-r--r--)",
    ]
    config.write_text('title = "T"\n')
    assert len(wrong(examine(check_permissions))) == 0, "a file without secrets may be public"


def test_a_socket_or_a_log_for_everybody_is_found(examine: Examine, tmp_path: Path) -> None:
    for name in ("http.sock", "troupe.log", "troupe.log.1"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o666)
    environ = {"TROUPE_SOCKET": str(tmp_path / "http.sock"), "TROUPE_LOG_FILE": str(tmp_path / "troupe.log")}
    assert len(wrong(examine(check_permissions, **environ))) == 3
    for name in ("http.sock", "troupe.log", "troupe.log.1"):
        (tmp_path / name).chmod(0o660)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o660
    assert wrong(examine(check_permissions, **environ)) == []


# Mail


def mail_settings(port: int, **more: str) -> dict[str, str]:
    return {"TROUPE_SMTP_HOST": "127.0.0.1", "TROUPE_SMTP_PORT": str(port), "TROUPE_SMTP_TLS": "none"} | more


def test_a_mail_server_that_takes_mails_is_good_and_gets_none_unless_asked_for(examine: Examine) -> None:
    with mail_server() as post:
        assert wrong(examine(check_smtp, **mail_settings(post.port))) == []
        assert post.arrived == []
        found = examine(check_smtp, mail_to="ada@example.org", **mail_settings(post.port))
        assert found[-1].text == "a mail to ada@example.org was taken; look whether it arrives"
        assert "Mails of this server arrive" in post.receive("ada@example.org").body
        post.to_receivers = "550 no such mailbox"
        refused = examine(check_smtp, mail_to="ada@example.org", **mail_settings(post.port))
        assert wrong(refused) == [
            "the mail to ada@example.org was not taken: the mail server refused the receiver (550)"
        ]


def test_each_step_on_the_way_to_the_mail_server_is_found_broken(examine: Examine) -> None:
    with mail_server(credentials=("troupe", "right")) as post:
        login = {"TROUPE_SMTP_USER": "troupe", "TROUPE_SMTP_PASSWORD": "right"}
        plain = mail_settings(post.port, **login)
        assert wrong(examine(check_smtp, **plain)) == ["the password for the mail server is sent without encryption"]
        (failed,) = wrong(examine(check_smtp, **plain | {"TROUPE_SMTP_PASSWORD": "wrong"}))
        assert failed.startswith(f"127.0.0.1:{post.port} can't be used (log in): ")
        assert "wrong" not in failed
        (failed,) = wrong(examine(check_smtp, **plain | {"TROUPE_SMTP_TLS": "starttls"}))
        assert failed == f"127.0.0.1:{post.port} can't be used (encrypt): STARTTLS extension not supported by server."
        (failed,) = wrong(examine(check_smtp, **plain | {"TROUPE_SMTP_TLS": "tls"}))
        assert "can't be used (connect): [SSL" in failed
    (failed,) = wrong(examine(check_smtp, **mail_settings(post.port)))
    assert failed == f"127.0.0.1:{post.port} can't be used (connect): [Errno 111] Connection refused"


def test_the_wrong_encryption_of_mail_has_a_cure_of_its_own(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "STEP", 0.5)
    encrypted = certificate(tmp_path, addresses=["127.0.0.1"]).server

    def cure(**more: str) -> str:
        (found,) = [one for one in examine(check_smtp, **more) if one.state == "wrong"]
        return found.cure

    with mail_server() as post:
        assert cure(**mail_settings(post.port, TROUPE_SMTP_TLS="tls")) == NO_TLS_AT_FIRST
    with mail_server(ssl_context=encrypted) as post:
        assert cure(**mail_settings(post.port, TROUPE_SMTP_TLS="tls")) == WRONG_CERTIFICATE
        for tls in ("starttls", "none"):
            assert cure(**mail_settings(post.port, TROUPE_SMTP_TLS=tls)) == TLS_AT_FIRST
    with mail_server(tls_context=encrypted) as post:
        assert cure(**mail_settings(post.port, TROUPE_SMTP_TLS="starttls")) == WRONG_CERTIFICATE


def test_a_mail_that_is_asked_for_and_not_sent_for_want_of_a_server_is_found(examine: Examine) -> None:
    assert wrong(examine(check_smtp, mail_to="ada@example.org")) == [
        "no mail was sent to ada@example.org: there is no smtp_host"
    ]


def test_sign_ups_that_are_closed_for_want_of_mail_are_found(examine: Examine) -> None:
    assert [one.state for one in examine(check_smtp)] == ["note"]
    assert wrong(examine(check_smtp, TROUPE_REGISTRATIONS="open")) == [
        "there is no smtp_host, so sign-ups are closed although registrations is open"
    ]


# The proxy, as far as it needs none


@pytest.mark.parametrize(
    ("forwarded", "peer", "problem"),
    [
        ("203.0.113.77, 192.0.2.9", "127.0.0.1", None),
        ("192.0.2.9", "127.0.0.1", None),
        (None, "127.0.0.1", "all clients count as one: requests come from 127.0.0.1 without X-Forwarded-For"),
        ("203.0.113.77", "127.0.0.1", "clients can choose the address"),
        (
            "192.0.2.9",
            "10.0.0.7",
            "all clients count as one: requests come from 10.0.0.7, which is not in trusted_proxies",
        ),
    ],
)
def test_what_a_proxy_does_to_the_address_of_a_client_is_judged(
    forwarded: str | None, peer: str, problem: str | None
) -> None:
    settings = read_sources({}, {"TROUPE_DOMAIN": "a.test"}).settings
    seen = {"host": "a.test", "forwarded_for": forwarded, "peer": peer, "client": ""}
    found = wrong(list(proxy.evaluate(seen, settings, public_address(settings))))
    assert len(found) == (problem is not None)
    assert all(text.startswith(problem or "") for text in found)


def test_a_host_that_is_not_passed_on_is_found() -> None:
    settings = read_sources({}, {"TROUPE_DOMAIN": "a.test"}).settings
    seen = {"host": "127.0.0.1:3000", "forwarded_for": "192.0.2.9", "peer": "127.0.0.1", "client": ""}
    (text,) = wrong(list(proxy.evaluate(seen, settings, public_address(settings))))
    assert text.startswith("requests to a.test arrive with Host: 127.0.0.1:3000")


def test_trust_in_everybody_is_found(examine: Examine) -> None:
    assert wrong(examine(proxy.check_proxy)) == []
    assert "trusted_proxies has 0.0.0.0/0" in wrong(examine(proxy.check_proxy, TROUPE_TRUSTED_PROXIES="0.0.0.0/0"))[0]


def test_the_network_is_asked_only_when_it_is_said(examine: Examine) -> None:
    found = examine(proxy.check_proxy, server={"probe": "x"}, TROUPE_DOMAIN="social.example.org")
    assert found[-1].text == "https://social.example.org was not asked: add --online"
    assert found[-1].state == "note"


@pytest.mark.parametrize(
    ("owners", "found"),
    [
        ({"rules.toml": 0, "texts": 0}, ["texts", "rules.toml"]),
        ({"postgres.lock": 0}, []),
        ({"rules.toml": 0, "control-main.sock": 0}, []),  # root's own server may read all
    ],
)
def test_files_of_another_user_are_found(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owners: dict[str, int], found: list[str]
) -> None:
    """Of texts that root has written beside the server of another user."""
    make_private(data := tmp_path / "data")
    (data / "texts").mkdir(mode=0o700)
    for name in ("texts/rules.toml", "postgres.lock", "control-main.sock"):
        (data / name).touch(0o600)

    def owner_of(path: Path) -> int:
        return owners.get(path.name, 4711)

    monkeypatch.setattr(permissions, "_owner_of", owner_of)
    told = [one for one in examine(check_permissions, TROUPE_DATA=str(data)) if "the server to user 4711" in one.text]
    assert [Path(one.text.split()[0]).name for one in told] == found
    assert all(one.cure.startswith("chown -R user 4711: ") for one in told)
