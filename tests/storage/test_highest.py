"""The highest id in use, of every table that has ids."""

from troupe.storage.upkeep.highest import TABLES, highest_id

from .conftest import Stage, new_id

WITH_IDS = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'id' ORDER BY c.relname
"""


def test_every_table_with_ids_is_looked_at(stage: Stage) -> None:
    assert list(TABLES) == [row["relname"] for row in stage.sql(WITH_IDS)]


def test_the_highest_id_may_be_in_any_of_them(stage: Stage) -> None:
    assert stage(highest_id) == 0
    ada = stage.account("ada")
    assert stage(highest_id) == ada.id
    stage.sql("INSERT INTO tags (id, name, display_name, created_at) VALUES ($1, 'a', 'A', now())", tag := new_id())
    assert stage(highest_id) == tag
