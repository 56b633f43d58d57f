"""What an operator reads about a database that can't be used."""

import socket

import asyncpg
import pytest

from troupe.storage.engine.database import Unavailable
from troupe.storage.engine.trouble import connecting, explain, unavailable


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known: correct the host's name in"),
        (TimeoutError(), "PostgreSQL does not answer: correct host and port"),
        (ConnectionRefusedError(111, "Connect call failed"), "Connect call failed: start PostgreSQL"),
        (ConnectionError('PostgreSQL server at "db:5432" rejected SSL upgrade'), "upgrade: turn `ssl` on"),
        (asyncpg.InvalidPasswordError("no"), "no: correct the user and the password in TROUPE_DATABASE_URL"),
        (asyncpg.DiskFullError("could not extend file\nDETAIL: x"), "could not extend file: free space"),
        (asyncpg.UndefinedTableError("no such table"), "no such table"),
    ],
)
def test_the_cause_and_what_to_do_are_one_line(error: Exception, text: str) -> None:
    assert text in explain(error)
    assert "\n" not in explain(error)
    with pytest.raises(Unavailable), unavailable():
        raise error


@pytest.mark.parametrize("folder", ["/srv/troupe/data/postgres", "/tmp/troupe-0123456789ab", "/a/postgres-unfinished"])
@pytest.mark.parametrize("error", [TimeoutError(), ConnectionRefusedError(), FileNotFoundError()])
def test_the_advice_for_the_embedded_postgresql_names_no_url_and_no_firewall(folder: str, error: Exception) -> None:
    with pytest.raises(Unavailable) as told, connecting(f"postgresql://postgres@/postgres?host={folder}"):
        raise error
    assert "TROUPE_DATABASE_URL" not in str(told.value)
    assert ("kill -CONT" in str(told.value)) is isinstance(error, TimeoutError)
    with pytest.raises(Unavailable, match="TROUPE_DATABASE_URL"), connecting("postgresql:///?host=/run/postgresql"):
        raise error


@pytest.mark.parametrize(
    "password", ["1/secret", "1?secret", "1#secret", "secret:1", "1@secret", "1@secret/1", "1@secret#1"]
)
def test_a_password_that_cuts_the_url_is_not_shown(password: str) -> None:
    with pytest.raises(Unavailable) as told, connecting(f"postgresql://ada:{password}@localhost/troupe"):
        raise ValueError(f"Port could not be cast to integer value as '{password}'")
    assert "secret" not in str(told.value)
    assert "can't be read" in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize("password", ["1/2", "1?2", "1#2", "1@2", "1@2/3", "1@2#3", "1@2?3"])
def test_a_url_that_its_password_cuts_is_not_tried(password: str) -> None:
    """The name service was blamed for the host `2`."""
    with (
        pytest.raises(Unavailable, match="is written as %"),
        connecting(f"postgresql://ada:{password}@localhost/troupe"),
    ):
        pytest.fail("it was tried")


def test_a_whole_url_is_tried() -> None:
    for dsn in ("postgresql://ada:x@localhost/troupe?host=/a@b", "postgresql:///troupe"):
        with connecting(dsn):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///d?host=/run&user=a@b",
        "postgresql://localhost:5432/d?user=a@b&password=c@d",
        "postgresql://ada@localhost/d?options=a@b&unknown=a@b",
        "postgresql:///d?sslmode=require&application_name=troupe@here",
    ],
)
def test_a_value_behind_the_question_mark_may_have_an_at_sign(url: str) -> None:
    tried: list[str] = []
    with connecting(url):
        tried.append(url)
    assert tried
