"""Statements with named parameters: their text is a constant, and values follow the names."""

from dataclasses import dataclass

import pytest

from troupe.storage.engine.sql import Statement, assigned, insert_into, rows_of


@dataclass(frozen=True)
class Fruit:
    name: str
    group: str


def test_a_name_has_one_number_and_a_cast_stays_a_cast() -> None:
    statement = Statement("SELECT :name::text, :number, '{}'::text[] WHERE name = :name")
    assert statement.text == "SELECT $1::text, $2, '{}'::text[] WHERE name = $1"
    assert statement.names == ("name", "number")


def test_values_come_before_the_attributes_of_the_record() -> None:
    statement = Statement(insert_into("fruits", 'name, "group", kept', made_at=":now", name="lower(:name)"))
    assert statement.text == 'INSERT INTO fruits ("name", "group", "kept", "made_at") VALUES (lower($1), $2, $3, $4)'
    assert statement.bind(Fruit("Plum", "stone"), group="pome", kept=3, now=4)[1:] == ("Plum", "pome", 3, 4)


def test_many_records_are_bound_as_one_array_a_column() -> None:
    statement = Statement(f"SELECT *, :now FROM {rows_of({'name': 'text', 'group': 'text'}, 'new')}")
    assert statement.text == 'SELECT *, $1 FROM unnest($2::text[], $3::text[]) AS new ("name", "group")'
    fruits = [Fruit("plum", "stone"), Fruit("pear", "pome")]
    assert statement.bind_many(fruits, now=1)[1:] == (1, ["plum", "pear"], ["stone", "pome"])


def test_an_update_assigns_each_column_its_parameter() -> None:
    assert assigned("name, kept") == "name = :name, kept = :kept"


def test_what_the_statement_does_not_ask_for_is_refused() -> None:
    statement = Statement("SELECT :name")
    with pytest.raises(TypeError, match="no parameters nmae"):
        statement.bind(nmae="plum", name="plum")
    with pytest.raises(AttributeError):
        statement.bind()
