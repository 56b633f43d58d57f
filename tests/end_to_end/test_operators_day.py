"""A day of the person who runs a server: it is set up, something gets stuck, people misbehave, the disk is lost."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from mastodon import MastodonAPIError, MastodonServiceUnavailableError
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from troupe.storage.engine.connect import connect, transact_once
from troupe.storage.engine.embedded import embedded

from .. import plain_http
from ..http.uploading import picture
from ..mail.mailserver import MailServer
from ..small_disks import fill, small_disk
from . import installing
from .apps import App
from .browser import Chrome, press, sign_in, text_of
from .copies import files_of, rows_of
from .patience import eventually
from .poisoning import BREAK, REPAIR, database, forget_password, run
from .server import LISTENING, PASSWORD, TROUPE, Person, Server
from .signing_up import mailing_to

pytestmark = pytest.mark.timeout(300)

FIRST_ACCOUNT = re.compile(r"^  (\S.* accounts create NAME .*)$", re.MULTILINE)
LOCK = "LOCK TABLE statuses IN EXCLUSIVE MODE"


@dataclass
class Day:
    """The server, who runs it in a browser, and who uses it."""

    server: Server
    window: Chrome
    post: MailServer
    ada: Person
    eve: Person

    def troupe(self, *words: str | Path, code: int = 0) -> str:
        """What a command prints."""
        done = self.server.troupe(*words)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def told(self, *words: str) -> Any:
        """What a command answers to programs."""
        return json.loads(self.troupe(*words, "--json"))


def test_an_operators_day(new_server: Server, window: Chrome, post: MailServer, tmp_path: Path) -> None:
    with small_disk(new_server.data / "media", "32m"):
        day = morning(new_server, window, post)
        a_wedged_actor_is_found_and_released(day)
        a_poisoned_message_is_found_and_replayed(day)
        a_request_is_followed(day)
        a_report_ends_with_a_suspension(day)
        the_disk_fills_and_is_freed(day)
        backups = tmp_path / "backups"
        day.troupe("backup", backups)
        assert new_server.stop() == 0, new_server.log
        day.troupe("backup", backups)  # what came between
        rows, files = rows_of(new_server.data), files_of(new_server.data)
    the_disk_is_lost_and_the_backup_restored(day, backups, rows, files)


def morning(server: Server, window: Chrome, post: MailServer) -> Day:
    """Troupe is installed by the README, and started again by the command that this has made."""
    server.settings |= mailing_to(post)
    troupe = by_the_readme(server)
    server.start("env", argument=lambda words: [str(troupe), *words[len(TROUPE) :]])
    assert "findings" in typed(server, f"{troupe} doctor || true")
    ada, eve = server.people("ada", "eve")
    window.get(f"{server.url}/admin")
    sign_in(window, "olga@example.org", PASSWORD)
    assert "Overview" in text_of(window)
    return Day(server, window, post, ada, eve)


def by_the_readme(server: Server) -> Path:
    """Install and start Troupe, and post, by the commands of the README. Return the command `troupe`.

    Another owner is made by the command that the server prints.
    """
    folder, port = server.data.parent, str(server.port)
    server.settings["TROUPE_PORT"] = port
    troupe = installing.install(folder)
    settled = server.launch(argument=lambda _: installing.command("make run"))
    assert settled.wait(60), server.log
    assert LISTENING in server.log, server.log
    assert installing.is_ours(troupe, folder)
    (printed,) = eventually(lambda: FIRST_ACCOUNT.findall(server.log))
    first = installing.block("A first post in a minute")
    assert typed(server, first.replace(":3000", f":{port}")).count("<p>Hello, stage</p>") == 2, "alone and in a page"
    words = {"NAME": "olga", "E": "olga@example.org", "P": f"'{PASSWORD}'"}
    typed(server, " ".join(words.get(word, word) for word in str(printed).split()))
    os.killpg(server.pid, signal.SIGINT)  # Ctrl-C
    server.wait()
    assert "shutdown.done" in server.record_words()
    return troupe


def typed(server: Server, commands: str) -> str:
    """What commands print that are typed into a shell where Troupe was installed."""
    return installing.shell(commands, server.data.parent, server.environment())


def a_wedged_actor_is_found_and_released(day: Day) -> None:
    """Somebody's psql holds a lock, and so a post of ada's waits."""
    address, answers = f"account/{day.ada.id}", list[object]()
    with locked(day.server.data, LOCK):
        posting = threading.Thread(target=lambda: answers.append(attempt(day.ada.app, "stuck")), daemon=True)
        posting.start()
        (wedged,) = eventually(lambda: day.told("top", "--turn", "0.5")["actors"])
        assert (wedged["address"], wedged["message"]) == (address, "PublishStatus")
        snapshot = day.troupe("actor", "show", address)
        assert "PublishStatus" in snapshot
        assert "publish_status" in snapshot, "the stack of its turn"
        day.troupe("actor", "release", address)
        posting.join(30)
        assert isinstance(answers[0], MastodonServiceUnavailableError), "she is told, and not left waiting"
    assert day.told("actor", "show", address)["summary"]["restarts"] >= 1
    assert attempt(day.ada.app, "not stuck any more")["content"] == "<p>not stuck any more</p>"


def a_poisoned_message_is_found_and_replayed(day: Day) -> None:
    """A mail that can't be promised: the message that asks for it crashes its actor twice, and is parked."""
    dsn = database(day.server)
    transact_once(dsn, run, BREAK)
    forget_password(day.server, day.ada, "poisoned")
    (letter,) = eventually(lambda: day.told("dead-letters", "list"))
    assert (letter["address"], letter["message"]) == (f"account/{day.ada.id}", "SendPasswordReset")
    assert "ada@example.org" not in day.troupe("dead-letters", "show", letter["id"]), "what people wrote is masked"
    day.troupe("dead-letters", "replay", letter["id"], code=1)
    transact_once(dsn, run, REPAIR)
    day.troupe("dead-letters", "replay", letter["id"])
    assert day.told("dead-letters", "list") == []
    assert day.post.receive(f"{day.ada.name}@example.org").body


def a_request_is_followed(day: Day) -> None:
    day.eve.app.account_follow(day.ada.id)
    day.eve.app.timeline_home()
    with plain_http.client(base_url=day.server.url, headers=day.ada.headers, timeout=30) as http:
        sent = http.post("/api/v1/statuses", data={"status": f"hello @{day.eve.name}"})
    id = sent.headers["X-Request-Id"]
    (request,) = day.told("request", id)["steps"]
    turn = request["steps"][0]
    assert (request["where"], request["name"]) == ("POST", "/api/v1/statuses")
    assert (turn["where"], turn["name"]) == (f"account/{day.ada.id}", "PublishStatus")
    led_to = [(one["what"], one["where"]) for one in turn["steps"]]
    assert led_to[0] == ("transaction", f"account/{day.ada.id}")
    assert led_to[1:] == [("turn", f"home/{day.eve.id}")] * 2, "the post and the notification, at her follower's"
    assert "turn PublishStatus#" in day.troupe("request", id)


def a_report_ends_with_a_suspension(day: Day) -> None:
    """On the pages for staff, in a browser without JavaScript."""
    spam = day.eve.app.status_post("buy my pills")
    report = day.ada.app.report(day.eve.id, status_ids=spam.id, comment="She sells pills.")
    window, server = day.window, day.server
    window.get(f"{server.url}/admin/reports")
    assert day.eve.name in text_of(window)
    window.get(f"{server.url}/admin/reports/{report.id}")
    press(window, "Take it on")
    Select(window.find_element(By.NAME, "type")).select_by_value("suspend")
    window.find_element(By.NAME, "text").send_keys("No advertising here.")
    press(window, "Act")
    window.find_element(By.NAME, "password").send_keys(PASSWORD)
    press(window, "Do it")
    assert "Done." in text_of(window)
    with pytest.raises(MastodonAPIError, match="login is currently disabled"):
        day.eve.app.account_verify_credentials()
    assert plain_http.get(f"{server.url}/api/v1/statuses/{spam.id}").status_code == 404
    acts = [(act["actor"], act["action"], act["target"]) for act in day.told("audit")]
    assert acts[:2] == [("olga", "suspend", day.eve.name), ("olga", "assign", day.eve.name)]


def the_disk_fills_and_is_freed(day: Day) -> None:
    full = day.server.data / "media" / "full"
    fill(full)
    with pytest.raises(MastodonServiceUnavailableError):
        day.ada.app.media_post(BytesIO(picture()), "image/png")
    eventually(lambda: "low=media" in day.troupe("tree"))
    assert plain_http.get(f"{day.server.url}/health/ready").status_code == 503
    full.unlink()
    eventually(lambda: plain_http.get(f"{day.server.url}/health/ready").status_code == 200)
    sent = day.ada.app.media_post(BytesIO(picture()), "image/png")
    day.ada.app.status_post("with a picture", media_ids=[sent.id])


def the_disk_is_lost_and_the_backup_restored(
    day: Day, backups: Path, rows: dict[str, list[str]], files: dict[str, bytes]
) -> None:
    server = day.server
    server.end()
    shutil.rmtree(server.data)
    day.troupe("restore", backups)
    assert files_of(server.data) == files
    assert rows_of(server.data) == rows
    server.start()
    posts = day.ada.app.account_statuses(day.ada.id)
    assert posts[0].content == "<p>with a picture</p>"
    shown = plain_http.get(posts[0].media_attachments[0].url)
    assert (shown.status_code, shown.headers["Content-Type"]) == (200, "image/png")
    new = attempt(day.ada.app, "as if nothing had been")
    assert int(new.id) > int(str(posts[0].id))
    assert server.stop() == 0


def attempt(app: App, text: str) -> Any:
    """The post, or why there is none."""
    try:
        return app.status_post(text)
    except MastodonServiceUnavailableError as refusal:
        return refusal


@contextmanager
def locked(data: Path, statement: str) -> Generator[None]:
    """A lock in the database that somebody holds."""
    with embedded(data) as postgres, asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        db = runner.run(connect(postgres.dsn, application_name="psql"))
        runner.run(db.execute(f"BEGIN; {statement}"))
        yield
        runner.run(db.close())
