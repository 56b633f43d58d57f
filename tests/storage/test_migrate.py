"""Migrations: forward only, each whole or not at all, and never into a database they do not know."""

import asyncio
import unicodedata
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from troupe.actors.rules.scan import tag_name
from troupe.storage.engine.connect import run
from troupe.storage.engine.migrate import Migration, MigrationFailed, MigrationRefused, migrate, migrations
from troupe.storage.engine.term import upgrade

from .conftest import session

ONE = Migration(1, "one", "CREATE TABLE one (id int); INSERT INTO one VALUES (1);")
TWO = Migration(2, "two", "ALTER TABLE one ADD COLUMN name text; CREATE TABLE two (id int);")
BROKEN = Migration(2, "broken", "CREATE TABLE two (id int); SELECT 1 / 0;")


def apply(dsn: str, *steps: Migration) -> list[str]:
    async def main() -> list[str]:
        async with session(dsn) as db:
            return [step.name for step in await migrate(db, list(steps))]

    return run(main)


def value(dsn: str, query: str) -> Any:
    async def main() -> Any:
        async with session(dsn) as db:
            return await db.fetchval(query)

    return run(main)


def test_only_what_is_missing_is_applied(bare_dsn: str) -> None:
    assert apply(bare_dsn, ONE) == ["one"]
    assert apply(bare_dsn, ONE, TWO) == ["two"]
    assert apply(bare_dsn, ONE, TWO) == []
    assert value(bare_dsn, "SELECT count(*) FROM schema_migrations") == 2


def test_a_step_that_fails_leaves_nothing_of_itself(bare_dsn: str) -> None:
    with pytest.raises(MigrationFailed, match=r"migration 0002 \(broken\) failed.*division by zero"):
        apply(bare_dsn, ONE, BROKEN)
    assert value(bare_dsn, "SELECT to_regclass('two')") is None
    assert value(bare_dsn, "SELECT max(number) FROM schema_migrations") == 1
    assert apply(bare_dsn, ONE, TWO) == ["two"]


def test_a_newer_database_is_refused(bare_dsn: str) -> None:
    apply(bare_dsn, ONE, TWO)
    with pytest.raises(MigrationRefused, match=r"schema 2 \(two\), newer"):
        apply(bare_dsn, ONE)


def test_a_changed_step_is_refused_and_nothing_is_applied(bare_dsn: str) -> None:
    apply(bare_dsn, ONE)
    changed = Migration(1, "one", "CREATE TABLE other (id int)")
    with pytest.raises(MigrationRefused, match=r"migration 1 \(one\)"):
        apply(bare_dsn, changed, TWO)
    assert value(bare_dsn, "SELECT to_regclass('two')") is None


def test_two_programs_at_once_take_turns(bare_dsn: str) -> None:
    async def main() -> list[list[Migration]]:
        async with session(bare_dsn) as one, session(bare_dsn) as two:
            return list(await asyncio.gather(migrate(one, [ONE, TWO]), migrate(two, [ONE, TWO])))

    assert sorted(map(len, run(main))) == [0, 2]


def test_our_own_steps_are_numbered_without_a_gap_and_apply(bare_dsn: str) -> None:
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))
    assert upgrade(bare_dsn) == migrations()
    assert upgrade(bare_dsn) == []


def test_uploads_that_waited_before_nodes_had_names_wait_for_the_default_one(bare_dsn: str) -> None:
    before = [step.name for step in migrations()].index("media_node")
    apply(bare_dsn, *migrations()[:before])
    value(
        bare_dsn, "INSERT INTO accounts (id, username, uri, created_at, updated_at) VALUES (1, 'a', 'a', now(), now())"
    )
    for id, state in ((2, "waiting"), (3, "ready")):
        value(
            bare_dsn,
            f"INSERT INTO media_attachments (id, account_id, type, state, created_at, updated_at)"
            f" VALUES ({id}, 1, 'video', '{state}', now(), now())",
        )
    upgrade(bare_dsn)
    assert value(bare_dsn, "SELECT array_agg(node ORDER BY id) FROM media_attachments") == ["main", None]


def test_users_with_other_tags_keep_their_addresses_and_others_can_have_more(bare_dsn: str) -> None:
    before = [step.name for step in migrations()].index("email_spellings")
    apply(bare_dsn, *migrations()[:before])
    for id, email in ((1, "eve@x.org"), (2, "E.ve+2@x.org"), (3, "bob@x.org")):
        value(
            bare_dsn,
            "INSERT INTO accounts (id, username, uri, created_at, updated_at)"
            f" VALUES ({id}, 'u{id}', 'u{id}', now(), now())",
        )
        value(bare_dsn, f"INSERT INTO users (account_id, email, created_at) VALUES ({id}, '{email}', now())")
    upgrade(bare_dsn)
    value(bare_dsn, "UPDATE users SET email = 'eve+3@x.org' WHERE account_id = 3")
    emails = ["eve@x.org", "E.ve+2@x.org", "eve+3@x.org"]
    assert value(bare_dsn, "SELECT array_agg(email ORDER BY account_id) FROM users") == emails
    with pytest.raises(asyncpg.UniqueViolationError):
        value(bare_dsn, "UPDATE users SET email = 'EVE@x.org' WHERE account_id = 3")


def test_times_that_were_stored_as_infinities_can_be_read_again(bare_dsn: str) -> None:
    apply(bare_dsn, *migrations()[: [step.name for step in migrations()].index("infinite_times")])
    value(
        bare_dsn, "INSERT INTO accounts (id, username, uri, created_at, updated_at) VALUES (1, 'a', 'a', now(), now())"
    )
    fixed = "2026-01-01T00:00:00Z"
    announced = "'x', 'x', '[]'::jsonb, '[]'::jsonb, '{}'::text[]"
    for statement in (
        f"polls (id, account_id, expires_at, created_at) VALUES (1, 1, 'infinity', '{fixed}')",
        f"polls (id, account_id, expires_at, created_at) VALUES (2, 1, '{fixed}', '{fixed}')",
        "preview_cards (id, url, found, published_at, fetched_at) VALUES (1, 'a', true, '-infinity', now())",
        "scheduled_statuses (id, account_id, scheduled_at, params, created_at) VALUES (1, 1, 'infinity', '{}', now())",
        "announcements (id, text, content, mentions, statuses, tags, starts_at, ends_at, all_day, published_at,"
        f" updated_at) VALUES (1, {announced}, '-infinity', 'infinity', false, '-infinity', '{fixed}')",
    ):
        value(bare_dsn, f"INSERT INTO {statement}")
    upgrade(bare_dsn)
    assert value(bare_dsn, "SELECT array_agg(expires_at IS NULL ORDER BY id) FROM polls") == [True, False]
    assert value(bare_dsn, "SELECT published_at IS NULL FROM preview_cards")
    assert value(bare_dsn, "SELECT isfinite(scheduled_at) FROM scheduled_statuses")
    assert value(
        bare_dsn, "SELECT starts_at IS NULL AND ends_at IS NULL AND published_at = updated_at FROM announcements"
    )


def test_hashtags_that_differ_in_accents_become_one(bare_dsn: str) -> None:
    apply(bare_dsn, *migrations()[: [step.name for step in migrations()].index("folded_tags")])
    statements = [
        f"accounts (id, username, uri, created_at, updated_at) VALUES ({id}, 'u{id}', 'u{id}', now(), now())"
        for id in (1, 2)
    ]
    statements += [
        "statuses (id, account_id, uri, local, visibility, conversation_id, created_at) VALUES"
        f" ({id}, 1, 's{id}', true, '{visibility}', {id}, '2026-01-0{id}T00:00:00Z')"
        for id, visibility in ((1, "public"), (2, "public"), (3, "unlisted"), (4, "private"))
    ]
    # The oldest has the highest id. Two are alike without accents, one has an accent alone, one none.
    statements += [
        f"tags (id, name, display_name, usable, trendable, created_at) VALUES ({tag}, '2026-01-0{day}')"
        for tag, day in (
            ("1, 'catala', 'Catala', true, true", 2),
            ("2, 'catal\u00e0', 'CATAL\u00c0', false, NULL", 3),
            ("9, 'c\u00e0tala', 'C\u00e0tala', true, NULL", 1),
            ("4, 'i\u0307stanbul', '\u0130stanbul', true, NULL", 1),
            ("5, 'trio', 'Trio', true, false", 1),
            ("6, '\u0939\u093f\u0928\u094d\u0926\u0940', 'x', true, NULL", 1),
        )
    ]
    statements += [
        "status_tags (tag_id, status_id) VALUES (1, 1), (2, 1), (2, 2), (9, 3), (1, 4), (4, 1), (5, 1), (6, 1)",
        "followed_tags (id, account_id, tag_id, created_at) VALUES (1, 1, 1, now()), (2, 1, 2, now()),"
        " (3, 2, 2, now()), (4, 2, 4, now()), (5, 2, 5, now())",
        "featured_tags (id, account_id, tag_id, display_name, statuses, created_at) VALUES"
        " (1, 1, 2, 'CATAL\u00c0', 2, now()), (2, 1, 1, 'Catala', 1, now()), (3, 1, 5, 'Trio', 1, now())",
    ]
    for statement in statements:
        value(bare_dsn, f"INSERT INTO {statement}")
    upgrade(bare_dsn)

    def rows(query: str) -> Any:
        return [tuple(row) for row in value(bare_dsn, f"SELECT array_agg(row ORDER BY row) FROM ({query}) AS row")]

    assert rows("SELECT id, name, display_name, usable, trendable FROM tags") == [
        (4, "istanbul", "\u0130stanbul", True, None),
        (5, "trio", "Trio", True, False),
        (6, "\u0939\u093f\u0928\u094d\u0926\u0940", "x", True, None),
        (9, "catala", "C\u00e0tala", False, True),
    ]
    assert rows("SELECT tag_id, status_id FROM status_tags") == [
        (4, 1), (5, 1), (6, 1), (9, 1), (9, 2), (9, 3), (9, 4)
    ]  # fmt: skip
    assert rows("SELECT id, account_id, tag_id FROM followed_tags") == [(1, 1, 9), (3, 2, 9), (4, 2, 4), (5, 2, 5)]
    last_day = "extract(day FROM last_status_at)::int"
    assert rows(f"SELECT id, tag_id, display_name, statuses, {last_day} FROM featured_tags") == [
        (1, 9, "CATAL\u00c0", 3, 3), (3, 5, "Trio", 1, None),
    ]  # fmt: skip


def test_hashtags_of_announcements_are_folded(bare_dsn: str) -> None:
    apply(bare_dsn, *migrations()[: [step.name for step in migrations()].index("account_names")])
    tags: list[list[str]] = [["catal\u00e0", "catala", "\u4e0a\u6d77", "i\u0307stanbul"], ["trio", "b", "a"], []]
    for id, names in enumerate(tags, 1):
        value(
            bare_dsn,
            "INSERT INTO announcements (id, text, content, mentions, statuses, tags, all_day, updated_at)"
            f" VALUES ({id}, 'x', 'x', '[]', '[]', '{{{','.join(names)}}}', false, now())",
        )
    upgrade(bare_dsn)
    assert value(bare_dsn, "SELECT tags FROM announcements WHERE id = 1") == ["catala", "istanbul", "\u4e0a\u6d77"]
    assert value(bare_dsn, "SELECT tags FROM announcements WHERE id = 2") == ["trio", "b", "a"]
    assert value(bare_dsn, "SELECT tags FROM announcements WHERE id = 3") == []


def test_old_names_of_hashtags_are_folded_as_new_ones_are(bare_dsn: str) -> None:
    apply(bare_dsn, *migrations()[: [step.name for step in migrations()].index("folded_tags")])
    letters = [
        chr(code)
        for code in (*range(0xC0, 0x530), *range(0x620, 0xA00), *range(0x1E00, 0x2000), *range(0x3040, 0x3100))
    ]
    before = dict.fromkeys(
        f"{unicodedata.normalize('NFKC', letter).lower()}{letter.lower()}{number}"
        for number, letter in enumerate(letters)
        if letter.isalpha()
    )
    old = [name for name in before if unicodedata.is_normalized("NFKC", name)]
    assert len(old) > 1_000
    values = ", ".join(f"({id}, '{name}', 'x', now())" for id, name in enumerate(old))
    value(bare_dsn, f"INSERT INTO tags (id, name, display_name, created_at) VALUES {values}")
    upgrade(bare_dsn)
    assert value(bare_dsn, "SELECT array_agg(name ORDER BY id) FROM tags") == [tag_name(name) for name in old]


def test_a_gap_in_the_numbers_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "0002_two.sql").write_text("SELECT 1")
    with pytest.raises(ValueError, match="numbered"):
        migrations(tmp_path)


def test_every_reference_is_indexed_on_its_own_side(dsn: str) -> None:
    """Or else deleting what is referred to would scan the table that refers."""
    missing = value(
        dsn,
        """
        SELECT array_agg(c.conrelid::regclass || ' ' || c.conname) FROM pg_constraint c
        WHERE c.contype = 'f' AND NOT EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = c.conrelid
            AND (string_to_array(i.indkey::text, ' ')::int2[])[1:cardinality(c.conkey)] @> c.conkey
        )
        """,
    )
    assert missing is None


def test_every_text_has_a_longest_length(dsn: str) -> None:
    unbounded = value(
        dsn,
        """
        SELECT array_agg(a.attrelid::regclass || '.' || a.attname) FROM pg_attribute a
        JOIN pg_class t ON t.oid = a.attrelid AND t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
        WHERE a.attnum > 0 AND a.atttypid = 'text'::regtype AND t.relname <> 'schema_migrations' AND NOT EXISTS (
            SELECT FROM pg_constraint c WHERE c.contype = 'c' AND c.conrelid = a.attrelid AND a.attnum = ANY(c.conkey)
        )
        """,
    )
    assert unbounded is None


def test_uris_with_other_characters_than_ascii_are_percent_encoded(bare_dsn: str) -> None:
    apply(bare_dsn, *migrations()[: [step.name for step in migrations()].index("ascii_uris")])
    raw, encoded = (
        "https://p.test/\u0430\u4eac\U0001f388%2f?q=\u00fc",
        "https://p.test/%D0%B0%E4%BA%AC%F0%9F%8E%88%2f?q=%C3%BC",
    )
    plain, twice, long = "https://p.test/%d0%b0", "https://p.test/\u00fc", "https://p.test/" + 700 * "\u4eac"
    statements = [
        f"accounts (id, username, uri, created_at, updated_at) VALUES ({id}, 'u{id}', 'u{id}', now(), now())"
        for id in (1, 2)
    ]
    statements += [
        "statuses (id, account_id, uri, in_reply_to_uri, local, visibility, conversation_id, created_at) VALUES"
        f" ({id}, 1, '{uri}', '{raw}', false, 'public', {id}, now())"
        for id, uri in enumerate((raw, plain, twice, "https://p.test/%C3%BC", long), 1)
    ]
    statements += [
        f"tombstones (uri, created_at) VALUES ('{raw}', now())",
        f"favourites (id, account_id, status_id, uri, created_at) VALUES (1, 1, 1, '{raw}', now())",
        f"follows (id, account_id, target_account_id, uri, created_at) VALUES (1, 1, 2, '{raw}', now())",
        f"blocks (id, account_id, target_account_id, uri, created_at) VALUES (1, 1, 2, '{raw}', now())",
    ]
    for statement in statements:
        value(bare_dsn, f"INSERT INTO {statement}")
    upgrade(bare_dsn)
    stored = value(bare_dsn, "SELECT array_agg(uri ORDER BY id) FROM statuses")
    assert stored == [encoded, plain, twice, "https://p.test/%C3%BC", long]
    assert value(bare_dsn, "SELECT array_agg(DISTINCT in_reply_to_uri) FROM statuses") == [encoded]
    for table in ("tombstones", "favourites", "follows", "blocks"):
        assert value(bare_dsn, f"SELECT array_agg(uri) FROM {table}") == [encoded], table
