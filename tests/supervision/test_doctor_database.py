"""`troupe doctor`: PostgreSQL and the keys in it, by breaking what is checked."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from troupe import __version__
from troupe.actors.activitypub.keys import private_pem, public_pem
from troupe.storage.engine import connect
from troupe.storage.engine.cluster import NAME, OWN_URL, SOCKET_NAME
from troupe.storage.engine.connect import run, transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.json_values import JsonObject
from troupe.storage.engine.server_facts import ServerFacts, server_facts
from troupe.storage.engine.shards import SHARDS
from troupe.supervision.doctor.clock import check_clock
from troupe.supervision.doctor.database import LET_GO_ON, check_database, evaluate
from troupe.supervision.doctor.findings import Check, Examination, Finding
from troupe.supervision.doctor.keys import check_keys
from troupe.supervision.doctor.proxy import check_proxy
from troupe.supervision.doctor.server import check_server
from troupe.supervision.settings.sources import read_sources


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a settings file and without data."""
    monkeypatch.chdir(tmp_path)


def examined(check: Check, dsn: str, **environ: str) -> list[Finding]:
    return list(check(Examination(read_sources({}, {"TROUPE_DATABASE_URL": dsn} | environ), dsn)))


def wrong(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings if finding.state == "wrong"]


def execute(dsn: str, statement: str) -> None:
    async def work(db: Connection) -> None:
        await db.execute(statement)

    transact_once(dsn, work)


@pytest.fixture
def facts(dsn: str) -> ServerFacts:
    """The facts of the server of these tests, which loses data in a power cut, as those of one that does not."""
    facts = transact_once(dsn, server_facts)
    return replace(
        facts, settings={**facts.settings, "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    )


def test_a_server_that_forgets_in_a_power_cut_is_found(dsn: str) -> None:
    found = [finding for finding in examined(check_database, dsn) if finding.state != "good"]
    assert found.pop().text.startswith("the room on the disk of an external PostgreSQL can't be seen")
    assert [one.text.partition(":")[0] for one in found] == [
        "fsync is off", "full_page_writes is off", "synchronous_commit is off"
    ]  # fmt: skip
    assert found[0].cure == "As superuser: ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()."


def test_an_embedded_server_that_is_frozen_has_a_cure_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connect, "CONNECT_TIMEOUT", 0.01)
    # pytest's folders have names that are too long for a socket.
    with TemporaryDirectory(prefix="troupe-") as folder, socket.socket(socket.AF_UNIX) as frozen:
        cluster = Path(folder) / NAME
        cluster.mkdir()
        frozen.bind(str(cluster / SOCKET_NAME))
        frozen.listen()
        (found,) = check_database(Examination(read_sources({}, {}), f"{OWN_URL}{cluster}"))
    assert "PostgreSQL does not answer: its processes are stopped" in found.text
    assert (found.state, found.cure) == ("wrong", LET_GO_ON)


def test_a_good_server_is_told_in_a_line(facts: ServerFacts) -> None:
    (good,) = evaluate(facts, 8, own=True)
    assert good.state == "good"
    assert good.text.startswith(f"PostgreSQL {facts.version}, ")


def test_an_old_version_another_encoding_and_another_timezone_are_found(facts: ServerFacts) -> None:
    old = replace(facts, version="14.9", version_number=140009)
    assert wrong([*evaluate(old, 8, own=False)]) == ["PostgreSQL 14.9 is too old"]
    (latin,) = wrong([*evaluate(replace(facts, encoding="LATIN1"), 8, own=False)])
    assert "LATIN1" in latin
    elsewhere = replace(facts, settings={**facts.settings, "TimeZone": "Europe/Berlin"})
    assert "Europe/Berlin" in wrong([*evaluate(elsewhere, 8, own=False)])[0]


def test_a_database_that_can_only_be_read_is_found(dsn: str) -> None:
    assert not any("only be read" in text for text in wrong(examined(check_database, dsn)))
    read_only = f"{dsn}{'&' if '?' in dsn else '?'}default_transaction_read_only=on"
    assert wrong(examined(check_database, read_only))[0].startswith("it can only be read: nothing can be posted")


def test_it_is_said_how_far_searches_are_after_an_upgrade(dsn: str) -> None:
    assert not any("searches" in finding.text for finding in examined(check_database, dsn))
    moment = "extract(epoch FROM '2026-03-01 12:30Z'::timestamptz)"
    execute(dsn, f"INSERT INTO words_to_come VALUES (({moment} * 1000)::bigint << 16)")
    notes = [finding.text for finding in examined(check_database, dsn) if "searches" in finding.text]
    assert notes == ["searches find no posts from before 2026-03-01 12:30 yet: the server adds them while it runs"]


def test_calls_that_the_running_server_refuses_are_found() -> None:
    examination = Examination(read_sources({}, {}), None, server={"refusing": "a lock of the database holds calls up"})
    assert wrong(list(check_server(examination))) == [
        "it refuses calls of the database: a lock of the database holds calls up"
    ]  # fmt: skip
    assert wrong(list(check_server(replace(examination, server={"refusing": ""})))) == []


def test_shards_that_the_running_server_has_lost_are_found(dsn: str) -> None:
    examination = Examination(read_sources({}, {"TROUPE_DATABASE_URL": dsn}), dsn, server={"epochs": [0] * SHARDS})
    assert not any("shards" in text for text in wrong(list(check_database(examination))))
    execute(dsn, "DELETE FROM shards WHERE shard < 2")
    execute(dsn, "UPDATE shards SET epoch = 1 WHERE shard = 2")
    (found,) = (one for one in check_database(examination) if "shards" in one.text)
    assert (found.state, found.text) == (
        "wrong", "the table shards has other epochs than the running server for 3 of 256 shards of accounts:"
        " their owners can't post",
    )  # fmt: skip
    assert found.cure.startswith("Restart the server")
    silences: list[JsonObject] = [{}, {"epochs": []}, {"epochs": None}]
    for silent in silences:
        assert not any("shards" in text for text in wrong(list(check_database(replace(examination, server=silent)))))


def test_a_server_that_was_not_restarted_after_an_upgrade_is_found() -> None:
    examination = Examination(read_sources({}, {}), None, server={"version": "0.0.9"})
    (found,) = (finding for finding in check_server(examination) if finding.state == "wrong")
    assert found.text == f"it is of version 0.0.9, and this command of version {__version__}"
    assert found.cure.startswith("Restart the server")
    assert wrong(list(check_server(replace(examination, server={"version": __version__})))) == []
    assert wrong(list(check_server(replace(examination, server={"place": {}})))) == [], "earlier ones say nothing"


def test_a_standby_is_sent_to_its_primary(facts: ServerFacts) -> None:
    standby = replace(facts, settings={**facts.settings, "transaction_read_only": "on", "in_hot_standby": "on"})
    (found,) = evaluate(standby, 8, own=False)
    assert found.text == "it is a standby, which can only be read: nothing can be posted"
    assert found.cure.startswith("Let database_url name the primary")


def test_too_few_connections_are_found_and_the_cure_has_the_right_number(facts: ServerFacts) -> None:
    small = replace(facts, max_connections=20, reserved=3, others=5)
    (found,) = evaluate(small, 10, own=False)
    assert found.text.startswith("database_connections is 10, and PostgreSQL has 12 connections for Troupe: 20")
    assert found.cure == "Set database_connections to 9 or less, or max_connections to 21 or more, and restart."
    assert wrong([*evaluate(small, 9, own=False)]) == []
    assert wrong([*evaluate(replace(small, max_connections=21), 10, own=False)]) == []


def test_connections_of_other_programs_are_counted_and_ours_are_not(dsn: str) -> None:
    async def counted() -> int:
        other = await connect.connect(dsn, application_name="psql")
        try:
            return (await server_facts(cast("Connection", other))).others
        finally:
            await other.close()

    before = transact_once(dsn, server_facts).others
    assert run(counted) == before + 1


def test_a_database_that_does_not_answer_is_found() -> None:
    (text,) = wrong(examined(check_database, "postgresql://nobody@127.0.0.1:1/none"))
    assert text.startswith("it can't be asked: ")


def test_a_schema_that_is_not_current_is_found(dsn: str, bare_dsn: str) -> None:
    assert any("no schema yet" in text for text in wrong(examined(check_database, bare_dsn)))
    execute(dsn, "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)")
    assert any("run `troupe migrate`" in text for text in wrong(examined(check_database, dsn)))


def test_the_database_on_this_machine_has_the_same_time(dsn: str) -> None:
    assert examined(check_clock, dsn)[0].text == "the database has the same time"


# Keys


@pytest.fixture
def keys(dsn: str) -> str:
    """A database with the key of the server, and one for Web Push."""
    private, public = _pair()

    async def work(db: Connection) -> None:
        await db.execute("INSERT INTO server_key (private_key, public_key) VALUES ($1, $2)", private, public)
        await db.execute("INSERT INTO push_key (private_key) VALUES ($1)", new_push_key())

    transact_once(dsn, work)
    return dsn


def test_keys_that_fit_are_good(keys: str) -> None:
    assert [(one.state, one.text) for one in examined(check_keys, keys)] == [
        ("good", "1 key pairs for signatures fit (they are made when first needed)"),
        ("good", "the key for Web Push can be read"),
    ]


def test_a_private_key_that_does_not_fit_is_found(keys: str) -> None:
    _, other = _pair()

    async def work(db: Connection) -> None:
        await db.execute("UPDATE server_key SET public_key = $1", other)

    transact_once(keys, work)
    assert wrong(examined(check_keys, keys)) == [
        "the private key of the server itself does not fit its public key: other servers refuse its signatures"
    ]
    execute(keys, "UPDATE server_key SET private_key = 'none'")
    assert len(wrong(examined(check_keys, keys))) == 1


def test_a_key_for_web_push_that_cannot_be_read_or_another_one_is_found(keys: str, tmp_path: Path) -> None:
    data = {"TROUPE_DATA": str(tmp_path)}
    file = tmp_path / "vapid.pem"
    file.write_text(new_push_key())
    assert wrong(examined(check_keys, keys, **data)) == [
        f"{file} has another key for Web Push than the database, which counts"
    ]
    file.write_text("nothing")
    assert wrong(examined(check_keys, keys, **data))[0].startswith(f"{file} holds no key for Web Push")
    file.unlink()
    execute(keys, "UPDATE push_key SET private_key = 'nothing'")
    assert wrong(examined(check_keys, keys, **data)) == ["the key for Web Push in the database can't be read"]


# The domain


def test_a_domain_that_is_not_the_datas_is_found(dsn: str, tmp_path: Path) -> None:
    (tmp_path / "base_url").write_text("https://old.example\n")
    data = {"TROUPE_DATA": str(tmp_path)}
    assert wrong(examined(check_proxy, dsn, TROUPE_DOMAIN="old.example", **data)) == []
    (text,) = wrong(examined(check_proxy, dsn, TROUPE_DOMAIN="new.example", **data))
    assert text.startswith("domain is new.example, and this data folder was last used for old.example")


def _pair() -> tuple[str, str]:
    key = generate_private_key(65537, 2048)
    return private_pem(key), public_pem(key)


def new_push_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
