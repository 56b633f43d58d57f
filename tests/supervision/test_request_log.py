"""The records of a request in a file with the log, in both forms."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from troupe.storage.engine.json_values import JsonObject
from troupe.supervision.commands import troupe
from troupe.supervision.commands.request import records_of

from ..stand_ins import answering

RECORD = '{"time": "2026-11-21T12:00:00.000Z", "level": "error", "event": "actor.crashed", "request_id": "r1"}'
FOLDED = '{"time": "2026-11-21T12:00:01.000Z", "level": "error", "event": "actor.crashed", "request_ids": ["r2", "r1"]}'
OTHERS = RECORD.replace('"r1"', '"r10"')
STEP: JsonObject = {
    "what": "turn", "where": "home/7", "name": "Read", "message_id": 1, "ago": 0.1, "seconds": 0.1, "outcome": "",
    "steps": [],
}  # fmt: skip
FOR_PEOPLE = '12:00:00 actor.crashed     home/7 request_id=r1 error="ValueError: x"'


def test_records_of_a_request_are_found_alone_and_among_equal_ones() -> None:
    assert list(records_of([RECORD, OTHERS, FOLDED, "noise about r1", '{"r1": ', "{}"], "r1")) == [
        json.loads(RECORD), json.loads(FOLDED),
    ]  # fmt: skip


def test_what_the_journal_writes_before_a_record_is_passed_over() -> None:
    assert list(records_of([f"Nov 21 12:00:00 host troupe[7]: {RECORD}"], "r1")) == [json.loads(RECORD)]


def test_the_form_for_people_is_shown_as_it_is() -> None:
    others = FOR_PEOPLE.replace("request_id=r1 ", "request_id=r10 ")
    assert list(records_of([FOR_PEOPLE + "\n", others], "r1")) == [{"line": FOR_PEOPLE}]


def test_a_request_is_followed_in_the_log_also_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    log.write_text(f"{RECORD}\n{OTHERS}\n")
    call = ["request", "r1", "--data", str(tmp_path)]
    found = CliRunner().invoke(troupe, [*call, "--log", str(log), "--json"])
    assert json.loads(found.stdout) == {"request_id": "r1", "steps": [], "log": [json.loads(RECORD)]}
    module = sys.modules["troupe.supervision.commands.request"]  # its command has its name
    with monkeypatch.context() as patch:
        patch.setattr(module, "ask_node", answering({"steps": [STEP]}))
        silent = CliRunner().invoke(troupe, ["request", "r9", "--data", str(tmp_path), "--log", str(log)])
    assert (silent.exit_code, silent.stderr) == (0, f"{log} has no record of this request.\n")
    lost = CliRunner().invoke(troupe, call)
    assert (lost.exit_code, lost.stderr) == (1, "Error: No server runs; look into its log with --log.\n")
