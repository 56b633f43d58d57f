"""How the log looks: every event in every form. The forms themselves are golden files, see `tests/accept.py`."""

import json

import pytest

from troupe.supervision.log.console import Terminal, shows_colours
from troupe.supervision.log.vocabulary import Level, LogEvent

from .log_records import FORMS, RECORDS, NoonClock, written


def test_every_event_has_a_record_here() -> None:
    assert RECORDS.keys() == {*LogEvent}


@pytest.mark.parametrize(("form", "width"), [("no_colour", 100), ("narrow", 48)])
def test_lines_fit_into_the_terminal_but_for_words_that_are_longer(form: str, width: int) -> None:
    body = [line for line in written(FORMS[form]).splitlines() if "  File " not in line and " $ " not in line]
    assert [
        line for line in body if len(line) > width and " " in line.strip() and len(line.split()[-1]) < width - 11
    ] == []


def test_a_terminal_may_be_narrower_than_any_word() -> None:
    lines = Terminal(lambda: 1, colour=False)(
        NoonClock().now(), LogEvent.DISK_LOW, {"child": "disks", "error": "x" * 90}
    )
    assert "x" * 90 in lines


@pytest.mark.parametrize("event", [event for event in LogEvent if event.level is not Level.INFO])
def test_a_crash_names_the_commands_that_show_the_actor_and_the_request(event: LogEvent) -> None:
    records = [json.loads(line) for line in written(FORMS["json"]).splitlines()]
    for record in records:
        if record["event"] != event.word:
            continue
        commands = record.get("commands", [])
        assert ("actor" in record) is any(one.startswith("troupe actor show ") for one in commands)
        asked = record.get("request_id") or next(iter(record.get("request_ids", [])), None)
        assert (f"troupe request {asked}" in commands) is (asked is not None)


def test_a_strange_address_can_be_copied_into_a_shell() -> None:
    crashed = next(line for line in written(FORMS["json"]).splitlines() if "tag/日本" in line)
    assert json.loads(crashed)["commands"] == ["troupe actor show 'tag/日本'"]


@pytest.mark.parametrize(
    ("environ", "shown"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colours_can_be_turned_off(environ: dict[str, str], shown: bool) -> None:
    assert shows_colours(environ) is shown
