"""Query strings, forms and JSON become one nested dict; what no honest client sends is refused."""

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from troupe.http.answers.errors import HttpError, Malformed
from troupe.http.intake.decoding import MOST_PARAMETERS, nest, read_json, read_urlencoded
from troupe.http.intake.paging import Paged
from troupe.http.intake.parameters import (
    LARGEST_ID,
    UNKNOWN_ID,
    Choice,
    Count,
    Cursor,
    Flag,
    Focus,
    Given,
    Ids,
    Input,
    Maybe,
    MaybeFlag,
    Position,
    Prose,
    Several,
    SeveralForms,
    StatusId,
    Text,
    as_time,
    attribute,
)


class Pointed(Input):
    focus: Focus = None


def parsed(query: str) -> dict[str, Any]:
    return nest(read_urlencoded(query.encode()))


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("a=1&b=2", {"a": "1", "b": "2"}),
        ("a=1&a=2", {"a": "2"}),
        ("a", {"a": ""}),
        ("", {}),
        ("a=x+y%20z", {"a": "x y z"}),
        ("a=%F0%9f%8E%AD", {"a": "🎭"}),
        ("a=100%&b=%4%zz%%41%", {"a": "100%", "b": "%4%zz%A%"}),
        ("a[]=1&a[]=2", {"a": ["1", "2"]}),
        ("a%5B%5D=1", {"a": ["1"]}),
        ("a[b]=1&a[c][d]=2", {"a": {"b": "1", "c": {"d": "2"}}}),
        ("poll[options][]=x&poll[options][]=y", {"poll": {"options": ["x", "y"]}}),
        ("a[0][b]=1&a[7][b]=2", {"a": {"0": {"b": "1"}, "7": {"b": "2"}}}),
        ("a[][b]=1&a[][c]=2&a[][b]=3", {"a": [{"b": "1", "c": "2"}, {"b": "3"}]}),
        ("a[][b][c]=1&a[][b][c]=2", {"a": [{"b": {"c": "1"}}, {"b": {"c": "2"}}]}),
        ("a[][b][]=1&a[][b][]=2", {"a": [{"b": ["1", "2"]}]}),
    ],
)
def test_notation(query: str, tree: dict[str, Any]) -> None:
    assert parsed(query) == tree


@pytest.mark.parametrize(
    "query",
    [
        "a=%FF",
        "a=%00",
        "%00=a",
        "a=1&a[]=2",
        "a[]=1&a[b]=2",
        "a" + "[b]" * 9 + "=1",
        "a" * 200 + "[" + "b" * 200 + "]=1",
        "&".join(["a=1"] * 1001),
    ],
)
def test_what_no_honest_client_sends_is_400(query: str) -> None:
    with pytest.raises(Malformed):
        parsed(query)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        tree = nest(read_urlencoded(raw))
    except Malformed:
        return
    assert "\0" not in str(tree)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'["a"]',
        b'"text"',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b'{"a": NaN}',
        b'{"a":' + b"[" * 20 + b"]" * 20 + b"}",
        b'{"a":[' + b",".join([b"1"] * 2000) + b"]}",
    ],
)
def test_json_that_is_not_understood_is_400(raw: bytes) -> None:
    with pytest.raises(Malformed):
        read_json(raw)


@pytest.mark.parametrize("name", ["[", "[]", "a[", "[a", "]["])
def test_json_names_that_only_begin_a_bracket_are_read_as_those_of_forms(name: str) -> None:
    assert read_json(json.dumps({name: "1"}).encode()) == parsed(f"{name}=1")
    assert list(read_json(json.dumps({name: [1]}).encode())) == list(parsed(f"{name}=1"))


@pytest.mark.parametrize("raw", [b" ", b"null", b"false", b'""', b"[]", b" [ ]\n"])
def test_an_empty_json_body_is_an_empty_object(raw: bytes) -> None:
    """PHP has one type for lists and objects, and TootSDK sends an empty text where it has nothing to say."""
    assert read_json(raw) == {}


class Inner(Input):
    flag: Flag = True


class Everything(Input):
    flag: Flag = False
    maybe: MaybeFlag = None
    count: Count = None
    id: StatusId = None
    position: Position = None
    max_id: Cursor = None
    ids: Ids = ()
    texts: Annotated[tuple[Text, ...], Several] = ()
    kind: Annotated[Literal["a", "b"] | None, Choice] = None
    inner: Annotated[Inner | None, Maybe] = None
    several: Annotated[tuple[Inner, ...], SeveralForms] = ()


@pytest.mark.parametrize("value", ["0", "f", "F", "false", "FALSE", "off", "OFF", False, 0])
def test_false(value: object) -> None:
    assert Everything.read({"maybe": value}).maybe is False


@pytest.mark.parametrize("value", ["1", "true", "False", "no", "on", True, 1])
def test_everything_else_is_true(value: object) -> None:
    assert Everything.read({"maybe": value}).maybe is True


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_value_is_not_given(value: object) -> None:
    given = Everything.read(dict.fromkeys(("flag", "maybe", "count", "id", "max_id", "kind"), value))
    assert given == Everything()


@pytest.mark.parametrize(
    ("value", "number"),
    [("5", 5), ("-5", -5), ("5x", 5), ("x", 0), (7, 7), ("9" * 40, 10**18 - 1), ("\u0662\u0660", 20)],
)
def test_counts_are_read_as_far_as_they_are_numbers(value: object, number: int) -> None:
    assert Everything.read({"count": value}).count == number


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("0.5,-0.25", (0.5, -0.25)),
        ("0,5,-0,25", (0.5, -0.25)),  # German
        ("\u0660\u066b\u0665,-\u0660\u066b\u0662\u0665", (0.5, -0.25)),  # Arabic
        ("1,0", (1.0, 0.0)),
        ("0,5,1", None),
        ("0,5,-0,25,1", None),
    ],
)
def test_a_point_is_read_as_the_language_of_a_device_prints_it(text: str, point: tuple[float, float] | None) -> None:
    assert Pointed.read({"focus": text}).focus == point


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "²", str(LARGEST_ID + 1), True, [], {}])
def test_what_is_no_id_is_an_id_that_nothing_has(value: object) -> None:
    assert Everything.read({"id": value, "max_id": 5, "ids": [value, "7"]}).id == UNKNOWN_ID
    assert Everything.read({"ids": [value, "7"]}).ids == (UNKNOWN_ID, 7)


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "²", str(LARGEST_ID + 1), True, [], {}])
def test_what_is_no_id_is_not_stored_as_one(value: object) -> None:
    with pytest.raises(HttpError) as caught:
        Everything.read({"position": value})
    assert (caught.value.status, caught.value.text) == (422, "Validation failed: Position is invalid")


@pytest.mark.parametrize("value", ["x", "-1", "1.5"])
def test_a_cursor_that_is_no_id_is_below_all_ids(value: str) -> None:
    assert Everything.read({"max_id": value}).max_id == UNKNOWN_ID


@pytest.mark.parametrize("name", ["min_id", "since_id"])
def test_nothing_is_above_a_cursor_that_is_no_id(name: str) -> None:
    for value in ("x", "-1", "1.5", "01G65Z755AFWAKHE12NY0CQ9FH", "9" * 30, "\u0663", "null", -1, 1.5, True):
        assert getattr(Paged.read({name: value}), name) == LARGEST_ID, value
    for value, id in (("0", 0), (0, 0), ("00", 0), ("103", 103), (103, 103), ("0" * 30 + "5", 5), ("", None)):
        assert getattr(Paged.read({name: value}), name) == id, value


def test_a_cursor_beyond_all_ids_is_the_very_end() -> None:
    assert Everything.read({"max_id": "9" * 19}).max_id == LARGEST_ID
    assert Everything.read({"max_id": "9" * 30}).max_id == LARGEST_ID


@pytest.mark.parametrize("value", ["1", ["1"], {"0": "1"}, 1, ["1", ""], ["1", None]])
def test_lists_are_understood_however_they_are_written(value: object) -> None:
    assert Everything.read({"ids": value}).ids == (1,)


def test_a_hash_for_a_list_keeps_the_order_of_appearance() -> None:
    assert Everything.read(parsed("texts[9]=a&texts[-1]=b")).texts == ("a", "b")


def test_null_and_false_in_a_list_are_no_elements() -> None:
    """A JavaScript app writes `[isOpen && "a", "b"]`."""
    assert Everything.read({"texts": [False, "b", None, ""]}).texts == ("b", "")
    assert Everything.read({"texts": [False, None]}).texts == Everything.read({}).texts


@pytest.mark.parametrize("value", [None, "", {}, []])
def test_an_empty_form_is_not_given(value: object) -> None:
    assert Everything.read({"inner": value}).inner is None


@pytest.mark.parametrize("value", [[{"flag": "0"}], {"7": {"flag": "0"}}, ["", {"flag": "0"}, 1, None]])
def test_scalars_between_forms_are_ignored(value: object) -> None:
    assert Everything.read({"several": value}).several == (Inner(flag=False),)


def test_forms_in_texts_have_no_more_values_than_a_body_may_have() -> None:
    """Each text alone may have 1,000 values: 1 MiB of such texts would keep the loop for 300 ms."""
    inside = (MOST_PARAMETERS - 4) // 2
    text = json.dumps({"flag": "0", "many": [0] * (inside - 4)})
    assert Everything.read({"several": [text, text]}).several == (Inner(flag=False),) * 2
    with pytest.raises(Malformed, match="Too many parameters"):
        Everything.read({"several": [text, text, text]})


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2027-01-01T10:00:00 02:00", "2027-01-01T10:00:00+02:00"),
        (" 2027-01-01 10:00:00.123 0530 ", "2027-01-01 10:00:00.123+0530"),
        ("2027-01-01T10:00 02:00", "2027-01-01T10:00+02:00"),
        ("2027-01-01 10:00", "2027-01-01 10:00"),
        ("2027-01-01T10:00:00-02:00", "2027-01-01T10:00:00-02:00"),
    ],
)
def test_an_offset_gets_back_the_plus_that_a_form_did_not_escape(text: str, time: str) -> None:
    assert as_time(text) == time


def test_unknown_parameters_are_ignored() -> None:
    assert Everything.read({"unheard": "of"}) == Everything()


def test_a_choice_outside_the_list_is_422() -> None:
    with pytest.raises(HttpError) as caught:
        Everything.read({"kind": "c"})
    assert caught.value.text == "Validation failed: Kind is not included in the list"


class Bounded(Input):
    comment: Annotated[Prose, Field(max_length=3)] = ""
    names: Annotated[tuple[Text, ...], Several, Field(max_length=3)] = ()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"comment": "four"}, "Comment is too long (maximum is 3 characters)"),
        ({"names": ["a", "b", "c", "d"]}, "Names is too long (maximum is 3 items)"),
    ],
)
def test_the_length_of_texts_is_in_characters_and_of_lists_in_items(given: dict[str, object], text: str) -> None:
    with pytest.raises(HttpError) as caught:
        Bounded.read(given)
    assert caught.value.text == f"Validation failed: {text}"


class Required(Input):
    client_name: Given


@pytest.mark.parametrize("given", [{}, {"client_name": ""}, {"client_name": " "}, {"client_name": None}])
def test_a_missing_parameter_is_named(given: dict[str, object]) -> None:
    with pytest.raises(HttpError) as caught:
        Required.read(given)
    assert (caught.value.status, caught.value.text) == (400, "param is missing or the value is empty: client_name")


@pytest.mark.parametrize(
    ("path", "words"), [(("in_reply_to_id",), "In reply to"), (("poll", "expires_in"), "Expires in"), ((0,), "")]
)
def test_attributes_in_sentences(path: tuple[str | int, ...], words: str) -> None:
    assert attribute(path) == words
