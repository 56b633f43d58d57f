"""The command line, over a real database: what it prints, what it refuses and with which exit code."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from troupe.actors.configuration import Settings
from troupe.actors.kernel import Ids, SystemClock, first_id_at
from troupe.actors.rules.passwords import matches
from troupe.storage import accounts, oauth, users
from troupe.storage.accounts import NewAccount
from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded
from troupe.storage.engine.json_values import JsonObject
from troupe.storage.engine.migrate import migrations
from troupe.storage.engine.shards import shard_of
from troupe.storage.engine.term import upgrade
from troupe.storage.secrets import hash_of
from troupe.supervision.commands import troupe
from troupe.supervision.commands.tree import drawn
from troupe.supervision.frame import greeting
from troupe.supervision.settings.domain import base_url, remember

from ..rows import create_account


@pytest.fixture(scope="module")
def data(folder: tuple[Path, str]) -> Path:
    """A data folder whose PostgreSQL another process uses, as a server would."""
    return folder[0]


@pytest.fixture
def dsn(data: Path) -> Iterator[str]:
    with embedded(data, durable=False) as server:
        yield server.dsn


def run(*words: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(troupe, [str(word) for word in words], input=text)


def create(data: Path, name: str, *options: str) -> Result:
    return run("accounts", "create", name, "--email", f"{name}@localhost", "--password", "x", *options, "--data", data)


def import_lines(data: Path, lines: list[object], *options: str) -> Result:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return run("accounts", "import", "-", *options, "--data", data, text=text)


def test_an_account_is_made_as_asked(data: Path, dsn: str) -> None:
    made = create(data, "Ada", "--role", "owner", "--confirmed", "--approved")
    assert (made.exit_code, made.stdout) == (0, "Made http://localhost:3000/@Ada\n")
    user = transact_once(dsn, users.find_user_by_login, "ada@localhost")
    assert user is not None
    assert (user.username, user.role, user.default_privacy) == ("Ada", "owner", "public")
    assert user.confirmed_at is not None
    assert user.approved_at is not None
    assert matches(user.password_hash or "", "x")
    account = transact_once(dsn, accounts.find, user.account_id)
    assert account is not None
    assert not account.locked
    assert (account.uri, account.url) == ("http://localhost:3000/users/Ada", "http://localhost:3000/@Ada")


def test_a_command_on_a_machine_whose_clock_is_behind_makes_the_highest_ids(data: Path, dsn: str) -> None:
    now = datetime.now(UTC)
    ahead = Ids(SystemClock()).next() + (3_600_000 << 16)  # of a server whose clock is an hour ahead
    transact_once(dsn, create_account, NewAccount(ahead, "early", None, "early", "early"), now)
    create(data, "late")
    late = transact_once(dsn, users.find_user_by_login, "late")
    assert late is not None
    assert late.account_id > ahead


def test_without_the_flags_an_account_is_neither_confirmed_nor_approved(data: Path, dsn: str) -> None:
    create(data, "bob")
    user = transact_once(dsn, users.find_user_by_login, "bob")
    assert user is not None
    assert (user.confirmed_at, user.approved_at, user.role) == (None, None, "user")


def test_an_account_links_to_the_server_as_it_called_itself(data: Path, dsn: str, tmp_path: Path) -> None:
    remember(Settings(port=4999, data=data))
    assert base_url(Settings(data=data)) == "http://localhost:4999"
    assert base_url(Settings(data=data, domain="troupe.example")) == "https://troupe.example"
    assert base_url(Settings(data=tmp_path)) == "http://localhost:3000"
    (data / "base_url").unlink()


@pytest.mark.parametrize(
    ("name", "email", "reason"),
    [
        ("carol smith", "carol@localhost", "is not 1 to 30 of the letters"),
        ("c" * 31, "carol@localhost", "is not 1 to 30 of the letters"),
        ("carol", "carol", "the e-mail address 'carol' is none"),
        ("carol", "Carol <carol@localhost>", "the e-mail address 'Carol <carol@localhost>' is none"),
        ("carol", "carol@localhost, eve@localhost", "the e-mail address 'carol@localhost, eve@localhost' is none"),
        ("carol", f"{'c' * 320}@localhost", "is none"),
        ("TAKEN", "other@localhost", "the name TAKEN is taken"),
        ("other", "TAKEN@localhost", "the e-mail address TAKEN@localhost is taken"),
        ("other", " taken@LOCALHOST", "the e-mail address  taken@LOCALHOST is taken"),
    ],
)
def test_an_account_that_cannot_be_made_is_refused_with_the_reason(
    data: Path, name: str, email: str, reason: str
) -> None:
    create(data, "taken")
    refused = run("accounts", "create", name, "--email", email, "--password", "x", "--data", data)
    assert refused.exit_code == (1 if "taken" in reason else 2)
    assert reason in refused.stderr
    assert refused.stdout == ""


def test_a_password_is_never_empty(data: Path, dsn: str) -> None:
    words = ("accounts", "create", "pia", "--email", "pia@localhost", "--data", data)
    for more, text in ((("--password", ""), None), (("--password", " "), None), ((), ""), ((), "\n")):
        refused = run(*words, *more, text=text)
        assert (refused.exit_code, "empty" in refused.stderr) == (2, True), refused.stderr
    assert transact_once(dsn, users.find_user_by_login, "pia@localhost") is None


@pytest.mark.parametrize(
    ("name", "email", "reason"),
    [("p.ia", "pia@localhost", "the name 'p.ia' is not"), ("pia", "", "the e-mail address '' is none")],
)
def test_a_wrong_argument_is_said_before_a_password_is_asked_for(
    data: Path, name: str, email: str, reason: str
) -> None:
    refused = run("accounts", "create", name, "--email", email, "--data", data, text="")
    assert refused.exit_code == 2
    assert reason in refused.stderr


def test_without_a_terminal_a_password_is_a_line_of_standard_input(data: Path, dsn: str) -> None:
    made = run("accounts", "create", "tea", "--email", "tea@localhost", "--data", data, text="tea time\nmore")
    assert (made.exit_code, made.stderr) == (0, "")
    user = transact_once(dsn, users.find_user_by_login, "tea@localhost")
    assert user is not None
    assert matches(user.password_hash or "", "tea time")


def test_a_dot_or_a_tag_makes_another_address(data: Path, dsn: str) -> None:
    addresses = {"sam": "sam.lee@localhost", "samart": "sam.lee+art@localhost", "samdot": "samlee@localhost"}
    for name, email in {**addresses, "eve": " eve@Bücher.example"}.items():
        made = run("accounts", "create", name, "--email", email, "--password", "x", "--data", data)
        assert made.exit_code == 0, made.stderr
    for name, email in {**addresses, "eve": "eve@xn--bcher-kva.example"}.items():
        user = transact_once(dsn, users.find_user_by_login, email)
        assert user is not None
        assert user.username == name


def test_a_token_stands_alone_on_standard_output_and_is_good(data: Path, dsn: str) -> None:
    create(data, "dora")
    made = run("tokens", "create", "dora", "--scopes", "read write admin:read", "--data", data)
    assert made.exit_code == 0
    secret = made.stdout.removesuffix("\n")
    assert len(secret.split()) == 1
    token = transact_once(dsn, oauth.find_token, hash_of(secret))
    assert token is not None
    assert token.scopes == ("read", "write", "admin:read")
    assert token.application_name == "troupe command line"
    assert secret.endswith(f"{shard_of(token.account_id or 0):02x}")


def test_all_tokens_of_the_command_line_are_of_one_application(data: Path, dsn: str) -> None:
    create(data, "eve")
    secrets = [run("tokens", "create", "eve", "--data", data).stdout.strip() for _ in range(2)]
    tokens = [transact_once(dsn, oauth.find_token, hash_of(secret)) for secret in secrets]
    assert len({token.application_id for token in tokens if token}) == 1
    assert len({token.id for token in tokens if token}) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("nobody",), "no local account nobody"), (("fay", "--scopes", "read bogus"), "no such scope: bogus")],
)
def test_a_token_that_cannot_be_made_is_refused_with_the_reason(
    data: Path, words: tuple[str, ...], reason: str
) -> None:
    create(data, "fay")
    refused = run("tokens", "create", *words, "--data", data)
    assert (refused.exit_code, refused.stdout) == (2 if "scope" in reason else 1, "")
    assert reason in refused.stderr


def test_an_import_makes_all_accounts_and_answers_with_their_tokens(data: Path, dsn: str) -> None:
    lines: list[object] = [
        {"username": "gil", "email": "gil@localhost", "password": "open sesame"},
        {"username": "hal", "email": "hal@localhost", "role": "moderator"},
    ]
    made = import_lines(data, lines, "--scopes", "read write")
    assert made.exit_code == 0
    answers = [json.loads(line) for line in made.stdout.splitlines()]
    assert [set(answer) for answer in answers] == [{"name", "id", "token"}] * 2
    gil, hal = (transact_once(dsn, users.find_user, int(answer["id"])) for answer in answers)
    assert gil is not None
    assert hal is not None
    assert matches(gil.password_hash or "", "open sesame")
    assert (hal.password_hash, hal.role) == (None, "moderator")
    assert gil.confirmed_at is not None
    assert gil.approved_at is not None
    token = transact_once(dsn, oauth.find_token, hash_of(answers[1]["token"]))
    assert token is not None
    assert (token.account_id, token.scopes) == (hal.account_id, ("read", "write"))


def test_an_import_without_scopes_prints_no_tokens(data: Path) -> None:
    made = import_lines(data, [{"username": "ida", "email": "ida@localhost"}])
    assert (made.exit_code, made.stdout, made.stderr) == (0, "", "Made 1 account.\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "line 2: it is not JSON."),
        ("[]", "line 2: it is not a JSON object."),
        ({"username": "jo jo", "email": "j@localhost"}, "line 2: the name 'jo jo' is not"),
        ({"email": "j@localhost"}, "line 2: the name None is not"),
        ({"username": "joe", "email": "none"}, "line 2: the e-mail address 'none' is none"),
        ({"username": "joe", "email": "j@localhost", "role": "king"}, "line 2: the role 'king' is none of"),
        ({"username": "joe", "email": "j@localhost", "password": 1}, "line 2: the password is not a text"),
        ({"username": "joe", "email": "j@localhost", "nick": "j"}, "line 2: there is no field nick"),
        ({"username": "FIRST", "email": "j@localhost"}, "line 2: the username FIRST stands in line 1 too"),
        ({"username": "joe", "email": "Taken2@localhost"}, "line 2: the e-mail address Taken2@localhost is taken"),
        ({"username": "joe", "email": "First@LOCALHOST"}, "line 2: the email First@LOCALHOST stands in line 1 too"),
        ({"username": "Taken2", "email": "j@localhost"}, "line 2: the name Taken2 is taken"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_half_made(data: Path, dsn: str, line: object, reason: str) -> None:
    create(data, "taken2")
    refused = import_lines(data, [{"username": "first", "email": "first@localhost"}, line], "--scopes", "read")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert reason in refused.stderr
    assert transact_once(dsn, users.find_user_by_login, "first") is None


def letters(dsn: str, name: str) -> list[str]:
    """What mails to an account are promised."""

    async def read(db: Connection) -> list[str]:
        query = """
            SELECT payload->>'letter' FROM outbox JOIN accounts a ON payload->'account' = to_jsonb(a.id)
            WHERE kind = 'mail' AND username = $1 ORDER BY outbox.id
        """
        return [row[0] for row in await db.fetch(query, name)]

    return transact_once(dsn, read)


def test_only_the_unconfirmed_are_sent_a_mail(data: Path, dsn: str) -> None:
    create(data, "kim")
    create(data, "lea", "--confirmed")
    assert (letters(dsn, "kim"), letters(dsn, "lea")) == (["confirmation"], [])


def test_who_is_approved_may_come_in_and_is_told(data: Path, dsn: str) -> None:
    create(data, "max", "--confirmed")
    done = run("accounts", "approve", "@max", "--data", data)
    assert (done.exit_code, done.stdout) == (0, "Approved @max\n")
    user = transact_once(dsn, users.find_user_by_login, "max")
    assert user is not None
    assert user.approved_at is not None
    assert letters(dsn, "max") == ["approval"]
    again = run("accounts", "approve", "max", "--data", data)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "@max is approved already." in again.stderr
    assert letters(dsn, "max") == ["approval"]


def test_who_is_rejected_leaves_the_name_to_others(data: Path, dsn: str) -> None:
    create(data, "ned")
    done = run("accounts", "reject", "ned", "--yes", "--data", data)
    assert (done.exit_code, done.stdout) == (0, "Rejected @ned\n")
    assert transact_once(dsn, users.find_user_by_login, "ned@localhost") is None
    assert create(data, "ned", "--approved").exit_code == 0
    refused = run("accounts", "reject", "ned", "--yes", "--data", data)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "@ned is approved already" in refused.stderr
    assert transact_once(dsn, users.find_user_by_login, "ned") is not None


@pytest.mark.parametrize("decision", [("approve",), ("reject", "--yes")])
def test_an_unknown_account_is_not_approved_or_rejected(data: Path, decision: tuple[str, ...]) -> None:
    refused = run("accounts", *decision, "nobody", "--data", data)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "there is no account nobody" in refused.stderr


USED_TAG = """
    WITH writer AS (
        INSERT INTO accounts (id, username, uri, created_at, updated_at)
        SELECT n, 'u' || n, 'https://x/' || n, now(), now() FROM generate_series(1, 5) n RETURNING id
    ), counts AS (
        INSERT INTO account_counts (account_id, last_status_at) SELECT id, now() FROM writer
    ), post AS (
        INSERT INTO statuses (id, account_id, uri, url, local, visibility, conversation_id, created_at)
        SELECT $2 + id, id, 'https://x/s/' || id, 'https://x/@u' || id || '/' || $2 + id, true, 'public', id, now()
        FROM writer RETURNING id
    ), tag AS (
        INSERT INTO tags (id, name, display_name, created_at) VALUES (1, $1, $1, now()) RETURNING id
    ), card AS (
        INSERT INTO preview_cards (id, url, found, fetched_at) VALUES (1, 'https://news.test/' || $1, true, now())
        RETURNING id
    ), shared AS (
        INSERT INTO status_cards (status_id, card_id, id) SELECT post.id, card.id, post.id FROM card, post
    )
    INSERT INTO status_tags (tag_id, status_id) SELECT tag.id, post.id FROM tag, post
"""
# The post of u1, which all favourite besides one more account.
LIKED = """
    WITH fan AS (
        INSERT INTO accounts (id, username, uri, created_at, updated_at)
        VALUES (6, 'u6', 'https://x/6', now(), now()) RETURNING id
    ), found AS (
        UPDATE accounts SET discoverable = true WHERE id = 1
    ), counted AS (
        INSERT INTO status_counts (status_id, favourites) VALUES ($1, 6)
    )
    INSERT INTO favourites (id, account_id, status_id, created_at)
    SELECT id, id, $1, now() FROM (SELECT id FROM accounts UNION SELECT id FROM fan) AS anybody
"""
TAG = "SELECT trendable, reviewed_at IS NOT NULL FROM tags WHERE name = $1"


async def make_trend(db: Connection) -> str:
    """Make a hashtag, a link and a post that trend, and return the URL of the post."""
    first = first_id_at(datetime.now(UTC))
    await db.execute(USED_TAG, "tea", first)
    await db.execute(LIKED, first + 1)
    return f"https://x/@u1/{first + 1}"


@pytest.fixture(scope="module")
def trending_post(data: Path) -> str:
    with embedded(data, durable=False) as server:
        return transact_once(server.dsn, make_trend)


async def decision(db: Connection, name: str) -> tuple[Any, ...]:
    return tuple((await db.fetchrow(TAG, name)).values())


@pytest.mark.usefixtures("trending_post")
def test_hashtags_that_would_trend_wait_until_staff_decides(data: Path, dsn: str) -> None:
    for words, told, decided in (
        (("waiting",), "#tea\n", (None, False)),
        (("allow", "#Tea"), "Allowed #tea\n", (True, True)),
        (("waiting",), "", (True, True)),
        (("forbid", "tea"), "Forbade #tea\n", (False, True)),
        (("waiting",), "", (False, True)),
    ):
        done = run("tags", *words, "--data", data)
        assert (done.exit_code, done.stdout) == (0, told), done.stderr
        assert transact_once(dsn, decision, "tea") == decided


def reviews(data: Path, kind: str, *steps: tuple[str, str]) -> None:
    """Give commands of a kind one after the other, and compare what they print."""
    for words, told in steps:
        done = run(kind, *words.split(), "--data", data)
        assert (done.exit_code, done.stdout) == (0, told), (words, done.stderr)


@pytest.mark.usefixtures("trending_post")
def test_links_that_would_trend_wait_until_staff_decides_on_them_or_their_domain(data: Path, dsn: str) -> None:
    url = "https://news.test/tea"
    reviews(data, "links", ("waiting", f"{url}\n"), ("allow News.Test", "Allowed news.test\n"), ("waiting", ""))
    transact_once(dsn, lambda db: db.execute("DELETE FROM publisher_reviews"))
    reviews(data, "links", ("waiting", f"{url}\n"), (f"forbid {url}#x", f"Forbade {url}\n"), ("waiting", ""))


def test_posts_that_would_trend_wait_until_staff_decides_on_them_or_their_author(
    data: Path, dsn: str, trending_post: str
) -> None:
    url = trending_post
    reviews(data, "posts", ("waiting", f"{url}\n"), ("allow @U1", "Allowed @u1\n"), ("waiting", ""))
    transact_once(dsn, lambda db: db.execute("DELETE FROM author_reviews"))
    reviews(data, "posts", ("waiting", f"{url}\n"), (f"forbid {url}", f"Forbade {url}\n"), ("waiting", ""))


@pytest.mark.parametrize(
    ("kind", "named", "reason"),
    [
        ("links", "https://news.test/milk", "no post has the link https://news.test/milk."),
        ("links", "no domain", "no domain is neither a domain nor the URL of a page: "),
        ("links", "mailto://news.test/", "mailto://news.test/ is neither a domain nor the URL of a page: "),
        ("posts", "zoe", "there is no local account zoe."),
        ("posts", "https://x/@u1/12", "there is no post https://x/@u1/12."),
        ("posts", "https://x/@u1/9999999999999999999", "there is no post https://x/@u1/9999999999999999999."),
        ("posts", "https://x/@u1/x", "there is no post https://x/@u1/x."),
    ],
)
@pytest.mark.parametrize("word", ["allow", "forbid"])
def test_what_is_not_there_is_not_reviewed(data: Path, word: str, kind: str, named: str, reason: str) -> None:
    refused = run(kind, word, named, "--data", data)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert reason in refused.stderr


@pytest.mark.parametrize("word", ["allow", "forbid"])
def test_a_hashtag_that_was_never_used_is_not_reviewed(data: Path, word: str) -> None:
    refused = run("tags", word, "coffee", "--data", data)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "no post has the hashtag #coffee" in refused.stderr


def test_migrating_twice_is_harmless(data: Path) -> None:
    run("migrate", "--data", data)
    again = run("migrate", "--data", data)
    assert (again.exit_code, again.stdout) == (0, "The schema is up to date.\n")


SMALL_COMMANDS = [
    ("accounts", "create", "zoe", "--email", "zoe@localhost", "--password", "x"),
    ("accounts", "approve", "zoe"),
    ("accounts", "reject", "zoe", "--yes"),
    ("tokens", "create", "zoe"),
    ("tags", "allow", "zoe"),
    ("tags", "waiting"),
    ("links", "allow", "news.test"),
    ("posts", "waiting"),
]


@pytest.mark.parametrize("words", SMALL_COMMANDS)
def test_a_command_does_not_migrate_but_says_who_does(
    monkeypatch: pytest.MonkeyPatch, bare_dsn: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TROUPE_DATABASE_URL", bare_dsn)
    refused = run(*words)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "the database has no schema yet" in refused.stderr
    assert "run `troupe migrate`, or start the server" in refused.stderr
    assert tables(bare_dsn) == 0
    upgrade(bare_dsn)
    behind(bare_dsn)
    refused = run(*words)
    assert (refused.exit_code, refused.stdout) == (1, "")
    last = len(migrations())
    assert (
        f"the database is at schema {last - 1}, and this version of Troupe needs {last}: run `troupe" in refused.stderr
    )
    assert schema_of(bare_dsn) == last - 1


@pytest.mark.parametrize("words", SMALL_COMMANDS)
def test_a_command_makes_no_database_where_none_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = run(*words, "--data", tmp_path / "data")
    assert (refused.exit_code, refused.stdout) == (69, "")
    assert f"there is none in {tmp_path / 'data'}" in refused.stderr
    assert not (tmp_path / "data").exists()


def tables(dsn: str) -> int:
    return transact_once(dsn, lambda db: db.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))


def schema_of(dsn: str) -> int:
    return transact_once(dsn, lambda db: db.fetchval("SELECT max(number) FROM schema_migrations"))


def behind(dsn: str) -> None:
    """Forget the last migration, as if an older version had made the schema."""
    forget = "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)"
    transact_once(dsn, lambda db: db.execute(forget))


def test_a_command_makes_no_account_with_links_to_another_domain(data: Path, dsn: str) -> None:
    create(data, "una")
    refused = create(data, "ugo", "--domain", "troupe.example")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "domain is troupe.example, and the accounts in this database have links to localhost:3000" in refused.stderr
    assert transact_once(dsn, users.find_user_by_login, "ugo") is None


def test_a_newer_schema_is_refused(data: Path, dsn: str) -> None:
    run("migrate", "--data", data)

    async def from_the_future(db: Connection) -> None:
        await db.execute("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'future', '')")

    async def back(db: Connection) -> None:
        await db.execute("DELETE FROM schema_migrations WHERE number = 9999")

    transact_once(dsn, from_the_future)
    try:
        for words in (("migrate",), *SMALL_COMMANDS):
            refused = run(*words, "--data", data)
            assert refused.exit_code == 1
            assert "newer than" in refused.stderr
    finally:
        transact_once(dsn, back)


def test_a_database_that_is_not_there_has_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("TROUPE_DATABASE_URL", f"postgresql://troupe@127.0.0.1:{port}/troupe")
    refused = run("migrate", "--data", data)
    assert refused.exit_code == 69
    assert "The database can't be used: " in refused.stderr
    assert "start PostgreSQL, or correct host and port" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [("serve", "--port", "http"), ("serve", "--config", "/nowhere"), ("serve", "--bogus"), ("bogus",)],
)
def test_wrong_usage_and_wrong_settings_have_one_exit_code(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


def test_a_wrong_setting_is_refused_before_anything_starts(tmp_path: Path) -> None:
    refused = run("serve", "--port", "0", "--data", tmp_path / "data")
    assert "port = '0' (from the command line) can't be taken. Right is: a number from 1 to 65535." in refused.stderr
    assert not (tmp_path / "data").exists()


def test_the_greeting_says_where_the_server_is_and_how_to_make_the_first_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [".venv/bin/troupe", "serve"])
    text = greeting(Settings(port=4000), has_accounts=False)
    assert "http://localhost:4000" in text
    assert "127.0.0.1:4000 and [::1]:4000" in text
    assert ".venv/bin/troupe accounts create NAME" in text
    assert "--data" not in text
    assert f"--data {tmp_path / 'elsewhere'}" in greeting(Settings(data=tmp_path / "elsewhere"), has_accounts=False)


def test_the_greeting_speaks_of_no_first_account_where_there_are_some() -> None:
    text = greeting(Settings(port=4000), has_accounts=True)
    assert text.startswith("Troupe is at http://localhost:4000 (listening on ")
    assert "account" not in text


@pytest.mark.parametrize("words", [("--config", "/etc/troupe.toml"), ("--config=/etc/troupe.toml",)])
def test_the_greeting_names_the_file_that_names_the_database(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.argv", ["troupe", "serve", *words, "--port", "4000"])
    assert "--approved --config /etc/troupe.toml" in greeting(Settings(), has_accounts=False)


TREE: JsonObject = {
    "name": "troupe",
    "strategy": "rest_for_one",
    "children": [
        {"name": "storage", "children": []},
        {"name": "http"},
        {"name": "homes", "troubled": ["home/1", "home/2"], "queue": {"films": 1}, "full": False, "left": []},
    ],
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A server's control socket, in a folder whose path is longer than a socket's name may be."""
    folder = tmp_path / ("deep" * 30)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        short = tmp_path / "s"
        listener.bind(str(short))
        listener.listen()
        short.rename(folder / "control-main.sock")
        thread = threading.Thread(target=_answer_once, args=(listener,))
        thread.start()
        yield folder
        thread.join()


def _answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb") as stream:
        assert json.loads(stream.readline()) == {"command": "tree"}
        stream.write(json.dumps(TREE).encode() + b"\n")


def test_the_tree_is_that_of_the_running_server(running: Path) -> None:
    shown = run("tree", "--data", running)
    assert (shown.exit_code, shown.stdout) == (0, "\n".join(drawn(TREE)) + "\n")
    assert shown.stdout.splitlines() == [
        "troupe           strategy=rest_for_one",
        "  storage",
        "  http",
        "  homes          troubled=home/1, home/2  queue=films 1  full=no",
    ]


def test_programs_get_the_tree_as_the_server_gave_it(running: Path) -> None:
    assert json.loads(run("tree", "--json", "--data", running).stdout) == TREE


def test_another_node_on_the_data_folder_is_named(running: Path) -> None:
    """The folder has a socket of a node that was killed, too."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(running.parent / "left"))
    (running.parent / "left").rename(running / "control-killed.sock")
    shown = run("tree", "--node", "other", "--data", running)
    assert shown.exit_code == 1
    assert "No server runs as node other; choose another node with --node: main." in shown.stderr


def test_without_a_server_the_tree_is_what_would_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("tree")
    assert shown.exit_code == 1
    assert "No server runs on this data folder." in shown.stderr
    assert shown.stdout.startswith("troupe")
    assert list(tmp_path.iterdir()) == []
