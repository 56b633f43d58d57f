"""The command line as a process of its own: beside a running server and without one, in effect at once, and quick."""

import json
import os
import resource
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from mastodon import Mastodon, MastodonAPIError, MastodonNotFoundError, MastodonUnauthorizedError

from .. import plain_http
from ..http.uploading import animation
from .apps import app_of
from .browser import Visitor, query_of
from .patience import eventually
from .server import COMMAND, PASSWORD, TROUPE, Server

T = TypeVar("T")

# About a second on a quiet machine. The tests' own may be busy: a command's work is counted, not what it waits for.
QUICK = 2.5
AT_MOST = 20.0
IMPORTED, IMPORT_SECONDS = 1000, 15.0
ACCOUNT = ("--email", "operator@localhost", "--password", "x", "--role", "owner", "--confirmed", "--approved")


@contextmanager
def quickly(seconds: float = AT_MOST) -> Generator[None]:
    """Within the time, and without much work."""
    started, worked = time.monotonic(), work_of_commands()
    yield
    assert time.monotonic() - started < seconds
    assert work_of_commands() - worked < QUICK


def work_of_commands() -> float:
    """Seconds of a core that commands have taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_what_commands_make_is_there_at_once(server: Server) -> None:
    with quickly():
        made = server.run("accounts", "create", "operator", *ACCOUNT)
    assert (made.returncode, made.stdout) == (0, f"Made {server.url}/@operator\n"), made.stderr
    with quickly():
        token = server.run("tokens", "create", "operator", "--scopes", "read write admin:read").stdout.strip()
    app = app_of(server.url, token)
    me = app.account_verify_credentials()
    assert me.source is not None
    assert (me.username, me.locked, me.source.privacy) == ("operator", False, "public")
    assert me.url == f"{server.url}/@operator"
    assert app.status_post("Hello").visibility == "public"


def test_changes_and_the_end_of_an_account_hold_at_once(server: Server) -> None:
    made = ("--email", "passing@localhost", "--password", "x", "--role", "moderator", "--confirmed", "--approved")
    server.troupe("accounts", "create", "passing", *made)
    token = server.troupe("tokens", "create", "passing", "--scopes", "read write admin:read").stdout.strip()
    app = app_of(server.url, token)
    status = app.status_post("soon gone")
    assert len(app.admin_accounts_v2(username="passing")) == 1
    assert server.troupe("accounts", "modify", "passing", "--role", "user").returncode == 0
    with pytest.raises(MastodonAPIError, match="403"):
        app.admin_accounts_v2(username="passing")
    deleted = server.troupe("accounts", "delete", "passing", "--yes")
    assert deleted.returncode == 0, deleted.stderr
    with pytest.raises(MastodonUnauthorizedError):
        app.account_verify_credentials()
    assert plain_http.get(f"{server.url}/api/v1/statuses/{status.id}").status_code == 404
    assert plain_http.get(f"{server.url}/api/v1/accounts/{status.account.id}").status_code == 410


def test_an_account_with_any_password_signs_in_by_any_address(server: Server) -> None:
    (ada,) = server.people("ada")
    server.troupe("accounts", "create", "short", "--email", "admin@localhost", "--password", "1", *ACCOUNT[4:])
    client_id, _ = Mastodon.create_app("Walker", api_base_url=server.url)
    visitor = Visitor()
    query = f"response_type=code&client_id={client_id}&redirect_uri=urn:ietf:wg:oauth:2.0:oob"
    visitor.visit(f"{server.url}/oauth/authorize?{query}")
    visitor.send(username="admin@localhost", password="1")
    assert query_of(str(visitor.send(decision="allow").url))["code"]
    assert ada.app.account_lookup("short").acct == "short"


def test_a_custom_emoji_is_shown_and_gone_at_once(server: Server, tmp_path: Path) -> None:
    (ada,) = server.people("emilia")
    path = tmp_path / "x.gif"
    path.write_bytes(animation())
    status = ada.app.status_post("a :party:")
    assert server.troupe("emoji", "add", "party", path, "--category", "Fun").returncode == 0
    (shown,) = eventually(lambda: ada.app.status(status).emojis)
    assert (shown.shortcode, shown.visible_in_picker) == ("party", True)
    for url, kind in ((shown.url, "image/gif"), (shown.static_url, "image/webp")):
        fetched = plain_http.get(str(url))
        assert (fetched.status_code, fetched.headers["Content-Type"]) == (200, kind)
    assert server.troupe("emoji", "remove", "party", "--yes").returncode == 0
    eventually(lambda: not ada.app.custom_emojis())
    assert ada.app.status(status).emojis == []


def test_terms_are_shown_and_gone_at_once(server: Server) -> None:
    url = f"{server.url}/api/v1/instance/terms_of_service"
    assert plain_http.get(url).status_code == 404
    made = server.troupe("terms", "publish", "-", "--date", "2026-01-01", text="Be *kind*.")
    assert made.returncode == 0, made.stderr
    eventually(lambda: plain_http.get(url).status_code == 200)
    assert "<em>kind</em>" in plain_http.get(url).json()["content"]
    assert server.troupe("terms", "remove", "2026-01-01", "--yes").returncode == 0
    eventually(lambda: plain_http.get(url).status_code == 404)


def test_a_thousand_accounts_come_in_one_go(server: Server) -> None:
    entries = [{"username": f"many_{n}", "email": f"many_{n}@localhost"} for n in range(IMPORTED)]
    entries[0]["password"] = PASSWORD
    lines = "\n".join(map(json.dumps, entries))
    with quickly(IMPORT_SECONDS):
        made = server.run("accounts", "import", "-", "--scopes", "read write", text=lines)
    assert made.returncode == 0, made.stderr
    answers = [json.loads(line) for line in made.stdout.splitlines()]
    assert [answer["name"] for answer in answers] == [entry["username"] for entry in entries]
    last = app_of(server.url, answers[-1]["token"])
    assert str(last.account_verify_credentials().id) == answers[-1]["id"]


def test_a_bad_line_is_named_and_no_account_is_made(server: Server) -> None:
    lines = [json.dumps({"username": f"half_{n}", "email": f"half_{n}@localhost"}) for n in range(20)]
    lines[12] = '{"username": "half 12", "email": "half@localhost"}'
    refused = server.troupe("accounts", "import", "-", text="\n".join(lines))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "line 13" in refused.stderr
    with pytest.raises(MastodonNotFoundError):
        app_of(server.url).account_lookup("half_0")


def test_the_tree_is_that_of_the_running_server(server: Server) -> None:
    with quickly():
        shown = server.run("tree")
    assert shown.returncode == 0
    names = [line.split()[0] for line in shown.stdout.splitlines()]
    assert names[0] == "troupe"
    assert names[1:] == [
        *("storage", "log", "accounts", "homes", "lists", "publics", "tags"),
        *(
            "housekeeping",
            "memory",
            "watchdog",
            "parking",
            "emojis",
            "blocks",
            "sign_ups",
            "settings",
            "outgoing",
            "federation",
            "announcements",
            "mail",
            "push",
            "deliveries",
            "inbox",
            "refreshes",
            "lookups",
            "media",
            "films",
            "expiry",
            "old_rows",
            "disks",
            "control",
            "http",
        ),
    ]
    assert shown.stdout.splitlines()[-1].split() == ["http", "running"]


def test_a_reader_that_has_left_ends_a_command_without_a_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = (*TROUPE, "tree", "--data", str(tmp_path / "none"))
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=COMMAND, check=False)
    os.close(writing)
    assert ended.returncode == 1
    assert "roken" not in ended.stderr


def test_migrating_beside_a_running_server_changes_nothing(server: Server) -> None:
    with quickly():
        done = server.run("migrate")
    assert (done.returncode, done.stdout) == (0, "The schema is up to date.\n")


def test_commands_do_without_a_server_and_leave_nothing_running(new_server: Server) -> None:
    migrated = new_server.troupe("migrate")
    assert migrated.returncode == 0, migrated.stderr
    assert "Applied 0001 accounts" in migrated.stdout
    with quickly():
        (early,) = new_server.people("early")
    shown = new_server.troupe("tree")
    assert shown.returncode == 1
    assert "No server runs" in shown.stderr
    assert not (new_server.data / "postgres" / "postmaster.pid").exists()
    new_server.start()
    assert early.app.account_verify_credentials().username == early.name
    assert new_server.stop() == 0
