"""The highest id in use, of every table that has ids."""

from troupe.storage.upkeep.highest import TABLES, highest_id

from .conftest import Stage, new_id

WITH_IDS = """
    SELECT table_name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'id' ORDER BY table_name
"""


def test_every_table_with_ids_is_looked_at(stage: Stage) -> None:
    tables = [row["name"] for row in stage.sql(TABLES)]
    assert tables == [row["table_name"] for row in stage.sql(WITH_IDS)]
    assert {"accounts", "statuses", "tags"} < {*tables}


def test_the_highest_id_may_be_in_any_of_them(stage: Stage) -> None:
    assert stage(highest_id) == 0
    ada = stage.account("ada")
    assert stage(highest_id) == ada.id
    stage.sql("INSERT INTO tags (id, name, display_name, created_at) VALUES ($1, 'a', 'A', now())", tag := new_id())
    assert stage(highest_id) == tag


def test_a_table_that_is_made_later_is_looked_at(stage: Stage) -> None:
    stage.sql("CREATE TABLE later (id bigint PRIMARY KEY)")
    stage.sql("INSERT INTO later VALUES ($1)", id := new_id())
    assert stage(highest_id) == id


def test_tables_of_other_programs_may_have_any_name(stage: Stage) -> None:
    stage.sql('CREATE TABLE "Another Program" (id integer PRIMARY KEY)')
    assert stage(highest_id) == 0
