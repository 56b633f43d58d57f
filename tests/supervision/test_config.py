"""`troupe config`: where each value comes from, what is wrong, and that no secret is shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.actors.configuration import Settings
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.supervision.commands import troupe
from troupe.supervision.settings.sources import SECRETS, read_settings

VALUES = dict.fromkeys(SECRETS, "hidden") | {
    "database_url": "postgresql://ada:hidden@127.0.0.1:1/troupe",
    "bus_url": "nats://ada:hidden@127.0.0.1:1",
}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a settings file and without data."""
    monkeypatch.chdir(tmp_path)


def config(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(troupe, ["config", *words], env=environment)


def explained(name: str, *words: str, **environment: str) -> dict[str, Any]:
    done = config("explain", name, "--json", *words, **environment)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_source_that_counts_is_named_and_those_that_it_comes_before(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('# the server\ntitle = """\nport = 1\n"""\nport = 3001\n')
    with_all = explained("port", "--config", str(file), "--port", "3003", TROUPE_PORT="3002")
    assert (with_all["value"], with_all["source"], with_all["place"]) == ("3003", "option", "--port")
    assert with_all["overridden"] == [
        {"value": "3002", "source": "environment", "place": "TROUPE_PORT"},
        {"value": "3001", "source": "file", "place": f"the file {file}, line 5"},
    ]
    without_option = explained("port", "--config", str(file), TROUPE_PORT="3002")
    assert (without_option["value"], without_option["source"]) == ("3002", "environment")
    of_file = explained("port", "--config", str(file))
    assert (of_file["value"], of_file["place"]) == ("3001", f"the file {file}, line 5")
    assert (explained("port")["value"], explained("port")["source"]) == ("3000", "default")


def test_a_wrong_value_in_the_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "troupe.toml").write_text('title = "T"\n\n"port" = 0\n')
    checked = config("check")
    assert checked.exit_code == 2
    assert checked.stdout == (
        "port = 0 (from the file troupe.toml, line 3) can't be taken. Right is: a number from 1 to 65535.\n"
        "The settings can't be used.\n"
    )


def test_checking_says_what_is_ignored_and_that_the_rest_can_be_used() -> None:
    checked = config("check", TROUPE_PRT="1")
    assert (checked.exit_code, checked.stdout) == (
        0, "Ignored: TROUPE_PRT names no setting; did you mean port?\nThe settings can be used.\n"
    )  # fmt: skip
    assert json.loads(config("check", "--json", TROUPE_PORT="x").stdout)["usable"] is False


def test_addresses_of_a_bus_that_can_not_be_read_are_refused_without_their_password() -> None:
    checked = config("check", TROUPE_BUS_URL="nats://ada:hid#den@10.0.0.1:4222")
    assert (checked.exit_code, checked.stdout) == (
        2,
        "bus_url (from the environment) can't be taken: it looks like nats://user:password@host:4222,host2:4222, and in"
        " user and password each of / : @ , # ? % is written as % and two hexadecimal digits.\n"
        "The settings can't be used.\n",
    )


def test_what_is_at_its_default_is_shown_only_with_all() -> None:
    assert config("show", TROUPE_PORT="3001").stdout == "port = 3001  (TROUPE_PORT)\n"
    shown = json.loads(config("show", "--all", "--json").stdout)
    assert [one["name"] for one in shown] == list(Settings.model_fields)


@pytest.mark.parametrize("name", ["metrics", "dns_servers"])
@pytest.mark.parametrize("place", ["192.0.2.53:5353", "[2001:db8::53]:5353"])
def test_an_address_with_a_port_is_shown_as_it_is_set(name: str, place: str) -> None:
    variable = f"TROUPE_{name.upper()}"
    assert config("show", **{variable: place}).stdout == f"{name} = {place}  ({variable})\n"


def test_passwords_and_keys_are_secrets() -> None:
    assert {"database_url", "smtp_password", "translation_key", "s3_secret_key"} <= {*SECRETS}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_secret_is_shown_by_no_command_wherever_it_stands(name: str, tmp_path: Path) -> None:
    (tmp_path / "troupe.toml").write_text(f'{name} = "{VALUES[name]}"\n')
    secret = tmp_path / "secret"
    secret.write_text(VALUES[name] + "\n")
    variable = f"TROUPE_{name.upper()}"
    for environment in ({variable: VALUES[name]}, {f"{variable}_FILE": str(secret)}, {}):
        for words in (["show"], ["show", "--all", "--json"], ["explain", name], ["explain"], ["check"]):
            done = config(*words, **environment)
            assert done.exit_code == 0
            assert "hidden" not in done.output
        assert "********" in config("show", **environment).stdout


def test_a_secret_can_be_the_content_of_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("good\n")
    settings = read_settings({}, {"TROUPE_SMTP_PASSWORD_FILE": str(secret)})
    assert settings.smtp_password is not None
    assert settings.smtp_password.get_secret_value() == "good"
    named = explained("smtp_password", TROUPE_SMTP_PASSWORD_FILE=str(secret))
    assert (named["source"], named["place"]) == ("secret file", f"the file {secret} (TROUPE_SMTP_PASSWORD_FILE)")


@pytest.mark.parametrize(("content", "why"), [(None, "can't be read"), (b"", "is empty"), (b"\xff", "is not text")])
def test_a_file_without_a_secret_is_refused(tmp_path: Path, content: bytes | None, why: str) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_bytes(content)
    checked = config("check", TROUPE_SMTP_PASSWORD_FILE=str(secret))
    assert checked.exit_code == 2
    assert why in checked.stdout


def test_a_secret_and_a_file_for_it_are_refused_together(tmp_path: Path) -> None:
    checked = config("check", TROUPE_SMTP_PASSWORD="a", TROUPE_SMTP_PASSWORD_FILE=str(tmp_path / "secret"))
    assert checked.exit_code == 2
    assert "are both set" in checked.stdout


def test_only_secrets_have_such_a_file() -> None:
    assert "TROUPE_PORT_FILE names no setting" in config("check", TROUPE_PORT_FILE="x").stdout


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    wrong = config("explain", "lg-level")
    assert (wrong.exit_code, wrong.stderr) == (2, "Error: lg-level names no setting; did you mean log_level?\n")


def test_a_database_that_does_not_answer_is_said_and_the_rest_is_shown() -> None:
    shown = config("show", TROUPE_DATABASE_URL=VALUES["database_url"])
    assert shown.stdout == "database_url = ********  (TROUPE_DATABASE_URL)\n"
    assert shown.stderr.startswith("Changes that were made while the server ran are missing here: ")


@pytest.mark.parametrize("command", [("config", "show"), ("doctor",)])
def test_a_fault_of_the_disk_is_told_without_its_number(tmp_path: Path, command: tuple[str, ...]) -> None:
    cluster = tmp_path / "postgres"
    cluster.mkdir()
    (cluster / "PG_VERSION").write_text("18\n")
    lock = tmp_path / "postgres.lock"
    lock.mkdir()  # a file of the machine that can't be opened
    told = CliRunner().invoke(troupe, [*command, "--data", str(tmp_path)], env={"COLUMNS": "500"}).output
    assert f"{lock}: Is a directory" in " ".join(told.split())
    assert "Errno" not in told


def test_what_staff_has_changed_comes_before_everything_else(folder: tuple[Path, str]) -> None:
    async def change(db: Connection) -> None:
        await db.execute(
            "INSERT INTO changed_settings (name, value, changed_at) VALUES ('registrations', 'open', now())"
        )

    transact_once(folder[1], change)
    told = explained("registrations", "--data", str(folder[0]), TROUPE_REGISTRATIONS="approval")
    assert (told["value"], told["source"]) == ("open", "changed")
    assert told["overridden"] == [
        {"value": "approval", "source": "environment", "place": "TROUPE_REGISTRATIONS"}
    ]  # fmt: skip
