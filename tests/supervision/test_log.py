"""The supervision log: what is written, what is folded, and what never stands in it."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import trio
from trio.testing import MockClock

from troupe.supervision.log.console import Terminal, as_text
from troupe.supervision.log.log import (
    LIBRARY_WINDOW,
    MOST_FOLDS,
    WINDOW,
    Form,
    Forwarded,
    SupervisionLog,
    VocabularyError,
    as_json,
)
from troupe.supervision.log.redaction import redacted
from troupe.supervision.log.vocabulary import FACTS, Level, LogEvent


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.instant = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.instant

    def move(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def lines() -> list[str]:
    return []


Open = Callable[..., SupervisionLog]


@pytest.fixture
def open_log(clock: HandClock, lines: list[str]) -> Open:
    def opened(form: Form = as_json, level: Level = Level.INFO, *, strict: bool = True) -> SupervisionLog:
        return SupervisionLog(lines.append, clock, form, level, strict=strict)

    return opened


def test_a_record_is_one_json_object_with_its_facts(open_log: Open, lines: list[str]) -> None:
    open_log().record("actor.crashed", actor="home/1103", depth=3, causes=["account/7"], error="ValueError: no")
    assert lines[0].endswith("}\n")
    assert json.loads(lines[0]) == {
        "time": "2026-11-21T12:00:00.000Z",
        "level": "error",
        "event": "actor.crashed",
        "actor": "home/1103",
        "depth": 3,
        "causes": ["account/7"],
        "error": "ValueError: no",
        "commands": ["troupe actor show home/1103"],
    }


def test_people_read_time_event_and_actor_first(open_log: Open, lines: list[str]) -> None:
    open_log(as_text).record("turn.slow", actor="home/1103", seconds=1.5, stack="  in account.py\n")
    assert lines == [
        "12:00:00 ! turn.slow          home/1103 seconds=1.5 [troupe actor show home/1103]\n  in account.py\n"
    ]


def test_an_exception_is_told_by_its_type_its_text_and_its_place(open_log: Open, lines: list[str]) -> None:
    try:
        raise KeyError("home")
    except KeyError as error:
        open_log().record("request.failed", error=error)
    told = json.loads(lines[0])
    assert told["error"] == "KeyError: 'home'"
    assert told["place"].startswith("test_log.py:")


def test_an_empty_fact_is_left_out(open_log: Open, lines: list[str]) -> None:
    open_log().record("child.started", child="storage", request_id=None, causes=[])
    assert set(json.loads(lines[0])) == {"time", "level", "event", "child"}


@pytest.mark.parametrize(("event", "facts"), [("actor.sneezed", {}), ("actor.crashed", {"body": "hello"})])
def test_a_word_outside_the_vocabulary_raises_in_tests(open_log: Open, event: str, facts: dict[str, object]) -> None:
    with pytest.raises(VocabularyError):
        open_log().record(event, **facts)


def test_in_production_an_unknown_word_does_no_harm(open_log: Open, lines: list[str]) -> None:
    open_log(strict=False).record("actor.sneezed", actor="home/1", body="hello")
    assert json.loads(lines[0])["error"] == "unknown event actor.sneezed"
    assert "hello" not in lines[0]


def test_less_grave_records_than_wanted_are_not_written(open_log: Open, lines: list[str]) -> None:
    log = open_log(level=Level.ERROR)
    log.record("child.started", child="storage")
    log.record("mailbox.full", actor="home/1")
    log.record("storage.lost")
    assert [json.loads(line)["event"] for line in lines] == ["storage.lost"]


def test_repeats_become_one_record_with_their_number_and_requests(
    open_log: Open, lines: list[str], clock: HandClock
) -> None:
    log = open_log()
    for number in range(4):
        log.record("mailbox.full", actor="home/1", depth=256, request_id=f"r{number}")
    assert len(lines) == 1
    clock.move(WINDOW)
    log.record("storage.back")
    folded = json.loads(lines[1])
    assert folded["count"] == 3
    assert folded["request_ids"] == ["r1", "r2", "r3"]
    assert "request_id" not in folded
    assert json.loads(lines[2])["event"] == "storage.back"


def test_a_folded_record_has_the_time_of_its_first_event_and_how_long_it_folds(
    open_log: Open, lines: list[str], clock: HandClock
) -> None:
    log = open_log()
    log.record("mailbox.full", actor="home/1")
    for _ in range(3):
        clock.move(2)
        log.record("mailbox.full", actor="home/1")
    clock.move(WINDOW)
    log.record("storage.back")
    folded = json.loads(lines[1])
    assert (folded["time"], folded["folded_seconds"]) == ("2026-11-21T12:00:02.000Z", 4.0)


def test_nothing_is_written_after_the_last_record(open_log: Open, lines: list[str]) -> None:
    log = open_log()
    log.record("storage.lost")
    log.record("storage.lost")
    log.flush()
    log.record("shutdown.done")
    log.close()
    log.record("storage.back")
    log.flush()
    assert [json.loads(line)["event"] for line in lines] == ["storage.lost", "storage.lost", "shutdown.done"]


@pytest.mark.parametrize("form", [as_json, as_text, Terminal(lambda: 80, colour=True)])
@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b2J", "\x00", "\x7f", "\r", "\u2028", "\u202e"])
def test_control_characters_are_escaped(open_log: Open, lines: list[str], form: Form, hostile: str) -> None:
    log = open_log(form)
    log.record("request.failed", message=f"GET /{hostile}x", request_id=hostile, stack=f"  line\n  {hostile}\n")
    assert hostile not in lines[0].removesuffix("\n")
    assert f"\\u{ord(hostile[0]):04x}" in lines[0] or form is as_json


def test_a_line_break_in_a_fact_forges_no_record(open_log: Open, lines: list[str]) -> None:
    open_log(as_text).record("request.failed", message="GET /\n12:00:00 shutdown.done")
    assert len(lines[0].splitlines()) == 1


def test_records_that_could_not_be_written_are_counted_when_the_reader_is_back(clock: HandClock) -> None:
    lines: list[str] = []
    stuck = True

    def write(line: str) -> None:
        if stuck:
            raise BlockingIOError
        lines.append(line)

    log = SupervisionLog(write, clock, as_json, strict=True)
    log.record("storage.lost")
    clock.move(3)
    log.record("outbox.given_up")
    clock.move(4)
    stuck = False
    log.record("storage.back")
    told = [json.loads(line) for line in lines]
    assert [one["event"] for one in told] == ["log.dropped", "storage.back"]
    assert (told[0]["time"], told[0]["count"], told[0]["folded_seconds"]) == ("2026-11-21T12:00:00.000Z", 2, 7.0)


def test_lines_that_the_writer_took_and_lost_are_counted_too(clock: HandClock) -> None:
    lines: list[str] = []
    lost = iter([0, 5])
    log = SupervisionLog(lines.append, clock, as_json, lost=lambda: next(lost, 0), strict=True)
    log.record("storage.lost")
    log.record("storage.back")
    assert [json.loads(line).get("count") for line in lines] == [None, 5, None]


def test_another_actor_error_or_decision_is_no_repeat(open_log: Open, lines: list[str]) -> None:
    log = open_log()
    log.record("actor.crashed", actor="home/1", error="ValueError: a", decision="restart in 0 s")
    log.record("actor.crashed", actor="home/2", error="ValueError: a", decision="restart in 0 s")
    log.record("actor.crashed", actor="home/1", error="ValueError: b", decision="restart in 0 s")
    log.record("actor.crashed", actor="home/1", error="ValueError: a", decision="restart in 0.1 s")
    assert len(lines) == 4


def test_after_the_window_the_same_record_is_news_again(open_log: Open, lines: list[str], clock: HandClock) -> None:
    log = open_log()
    log.record("outbox.retry", actor="home/1")
    clock.move(WINDOW)
    log.record("outbox.retry", actor="home/1")
    assert len(lines) == 2
    assert "count" not in json.loads(lines[1])


def test_flushing_writes_what_is_folded(open_log: Open, lines: list[str]) -> None:
    log = open_log()
    log.record("storage.lost")
    log.record("storage.lost")
    log.flush()
    assert json.loads(lines[1])["count"] == 1


async def test_folds_close_by_themselves(
    open_log: Open, lines: list[str], clock: HandClock, autojump_clock: MockClock
) -> None:
    log, stopping = open_log(), trio.Event()
    log.record("storage.lost")
    log.record("storage.lost")
    clock.move(WINDOW)
    async with trio.open_nursery() as nursery:
        await nursery.start(log.run, stopping)
        await trio.sleep(WINDOW)
        assert len(lines) == 2
        stopping.set()


def test_a_log_that_cannot_be_written_stops_nothing(clock: HandClock) -> None:
    def closed(_: str) -> None:
        raise BrokenPipeError

    SupervisionLog(closed, clock, as_json, strict=True).record("storage.lost")


def test_what_libraries_log_comes_in_the_same_form(open_log: Open, lines: list[str]) -> None:
    logger = logging.Logger("hypercorn.error")
    logger.addHandler(Forwarded(open_log()))
    logger.info("nothing of interest")
    try:
        raise RuntimeError("for ada@example.org")
    except RuntimeError:
        logger.exception("Error in ASGI Framework")
    told = json.loads(lines[0])
    assert len(lines) == 1
    assert (told["event"], told["logger"]) == ("library.said", "hypercorn.error")
    assert told["error"] == "Error in ASGI Framework: RuntimeError: for [address]"


def test_what_a_library_repeats_is_one_record_and_then_a_count(
    open_log: Open, lines: list[str], clock: HandClock
) -> None:
    """As the sender of traces does at each try while nothing takes them."""
    log, logger = open_log(), logging.Logger("opentelemetry.exporter")
    logger.addHandler(Forwarded(log))
    for number in range(40):
        logger.warning("No connection <at 0x%x>, retrying in %.2fs", 4096 + number, 1 + number / 7)
        logger.error("Failed to export batch %d", number)
        clock.move(WINDOW)
    assert [json.loads(line).get("count") for line in lines] == [None, None]
    logger.error("Failed to export metrics")
    assert len(lines) == 3, "another text is another record"
    clock.move(LIBRARY_WINDOW)
    log.record("storage.back")
    assert [json.loads(line).get("count") for line in lines[3:]] == [39, 39, None]


def test_a_clock_that_was_set_back_holds_no_record_back(open_log: Open, lines: list[str], clock: HandClock) -> None:
    log = open_log()
    log.record("storage.lost")
    log.record("storage.lost")
    clock.move(-3600)
    log.record("storage.back")
    assert [json.loads(line)["event"] for line in lines] == ["storage.lost", "storage.lost", "storage.back"]


def test_records_that_are_all_different_are_not_all_remembered(open_log: Open, lines: list[str]) -> None:
    log = open_log()
    for number in range(MOST_FOLDS + 1):
        log.record("mailbox.full", actor=f"home/{number}")
        if not number:
            log.record("mailbox.full", actor="home/0")
    assert json.loads(lines[-2])["count"] == 1, "the oldest is closed"
    assert len(lines) == MOST_FOLDS + 2


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("ValueError: ada@example.org is taken", "ValueError: [address] is taken"),
        ("LookupError: admin@localhost", "LookupError: [address]"),
        (
            'UniqueViolationError: duplicate key value violates unique constraint "users_email"\n'
            "DETAIL:  Key (lower(email))=(ada@example.org) already exists.",
            'UniqueViolationError: duplicate key value violates unique constraint "users_email"',
        ),
        (
            "DataError: invalid input for query argument $3: 'my diary' (expected int)",
            "DataError: invalid input for query argument $3: […]",
        ),
        ("ValueError: can't read 'dear diary, today'", "ValueError: can't read '…'"),
        ("ValueError: can't read \"it's late\"", 'ValueError: can\'t read "…"'),
        ("KeyError: 'home'", "KeyError: 'home'"),
        ("Refused: Bearer abc", "Refused: Bearer […]"),
        ("Refused: token bD8xQm2nV7kP4sT9wY3zR6cF1h", "Refused: token [token]"),
        ("OSError: postgresql://troupe:secret@db/troupe", "OSError: [address]"),
        ("IncompatibleProtocolVersionError: no", "IncompatibleProtocolVersionError: no"),
        ("LookupError: account 116812345678901248 was stored", "LookupError: account 116812345678901248 was stored"),
    ],
)
def test_errors_are_told_without_the_data_of_people(text: str, safe: str) -> None:
    assert redacted(text) == safe


def test_a_long_error_is_cut() -> None:
    assert len(redacted("ValueError: " + "no " * 1000)) == 300


def test_every_word_has_a_meaning() -> None:
    assert all(event.meaning.endswith(".") for event in LogEvent)
    assert all(meaning.endswith(".") for meaning in FACTS.values())
