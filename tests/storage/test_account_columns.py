"""The columns that name an account: each is found, has an index, and is treated by merges and deletions."""

from troupe.storage import account_deletions
from troupe.storage.upkeep import account_merges
from troupe.storage.upkeep.account_columns import AccountColumn, account_columns

from .conftest import Stage

# Each column as the account's own unique constraints say: the columns of which it has each value once.
SAMPLES = (
    AccountColumn("account_conversations", "account_id", True, (("conversation_id", "participant_ids"),)),
    AccountColumn("accounts", "moved_to_id", False, ()),
    AccountColumn("author_reviews", "account_id", True, ((),)),
    AccountColumn("follows", "target_account_id", True, (("account_id",),)),
    AccountColumn("lists", "account_id", True, ()),
)
# Columns that are the first of no index would be searched in the whole table.
WITHOUT_INDEX = """
    SELECT c.conrelid::regclass || '.' || a.attname AS name FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'accounts'::regclass
    AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = a.attnum)
"""
# Unique indexes with a condition or with expressions, which no rule reads: a merge has an exception for the column, or
# it is of users of this server alone, who are never merged.
UNREAD = """
    SELECT DISTINCT t.relname AS table, a.attname AS column FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f' AND c.confrelid = 'accounts'::regclass
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1]
    WHERE i.indisunique AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL) AND a.attnum = ANY(i.indkey)
"""
OF_USERS = {("imports", "account_id"), ("notifications", "account_id")}


def test_a_column_has_the_keys_of_its_unique_constraints(stage: Stage) -> None:
    found = stage(account_columns)
    assert len(found) > 60
    assert {*SAMPLES} <= {*found}


def test_every_column_that_names_an_account_has_an_index(stage: Stage) -> None:
    assert [row["name"] for row in stage.sql(WITHOUT_INDEX)] == [], "add one in the migration"


def test_a_unique_index_that_no_rule_reads_has_an_exception_in_merges(stage: Stage) -> None:
    found = {(row["table"], row["column"]) for row in stage.sql(UNREAD)}
    exceptions = {(one.table, one.column) for one in account_merges.EXCEPTIONS}
    assert found - exceptions == OF_USERS, "add it to EXCEPTIONS of account_merges.py"


def test_exceptions_name_what_there_is(stage: Stage) -> None:
    columns = stage(account_columns)
    assert {(one.table, one.column) for one in account_merges.EXCEPTIONS} <= {
        (one.table, one.column) for one in columns
    }
    owned = {one.table for one in columns if one.owns}
    assert owned >= account_deletions.DELETED_ELSEWHERE | account_deletions.KEPT_TABLES
    assert account_merges.COUNTS in owned


def test_rows_of_a_new_table_are_merged_and_deleted(stage: Stage) -> None:
    """As nothing but its foreign keys and constraints say."""
    stage.sql(
        "CREATE TABLE stamps (account_id bigint REFERENCES accounts ON DELETE CASCADE, giver_id bigint REFERENCES"
        " accounts ON DELETE SET NULL, kind text, UNIQUE (account_id, kind))"
    )
    old, new, bob = (stage.account(name, domain="far.example") for name in ("old", "new", "bob"))
    for account, kind in ((old, "red"), (old, "blue"), (new, "red")):
        stage.sql("INSERT INTO stamps VALUES ($1, $2, $3)", account.id, bob.id, kind)
    stage(account_merges.merge, old.id, new.id)
    kinds = "SELECT array_agg(kind ORDER BY kind) FROM stamps WHERE account_id = $1"
    assert (stage.value(kinds, new.id), stage.value(kinds, old.id)) == (["blue", "red"], None)
    while stage(account_deletions.delete_plain, bob.id, 1):
        pass
    assert stage.value(kinds, new.id) == ["blue", "red"], "bob owns none of them"
    while stage(account_deletions.delete_plain, new.id, 1):
        pass
    assert stage.value(kinds, new.id) is None


def test_a_unique_index_with_an_expression_is_no_key(stage: Stage) -> None:
    """Its columns alone would be a key by which a merge drops all rows of an account that the other has any of."""
    stage.sql("CREATE TABLE badges (account_id bigint REFERENCES accounts ON DELETE CASCADE, kind text)")
    stage.sql("CREATE UNIQUE INDEX ON badges (account_id, lower(kind))")
    old, new = (stage.account(name, domain="far.example") for name in ("old", "new"))
    for account, kind in ((old, "red"), (new, "blue")):
        stage.sql("INSERT INTO badges VALUES ($1, $2)", account.id, kind)
    stage(account_merges.merge, old.id, new.id)
    assert stage.value("SELECT count(*) FROM badges WHERE account_id = $1", new.id) == 2
