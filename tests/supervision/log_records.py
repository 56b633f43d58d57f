"""A record of each event of the supervision log, with the facts that it has, and the log in each of its forms.

`make accept` writes the forms into `golden/`. Read the difference before you commit it: operators have programs and
eyes for these lines.
"""

from datetime import UTC, datetime
from pathlib import Path

from troupe.supervision.log.console import Terminal, as_text
from troupe.supervision.log.log import Form, SupervisionLog, as_json
from troupe.supervision.log.vocabulary import LogEvent

GOLDEN = Path(__file__).parent / "golden"
REQUEST = "0199f2c4b1d87e6a"
STACK = '  File "actors/commands/statuses.py", line 88, in post_status\n    await account.transact(store)\n'

FORMS: dict[str, Form] = {
    "json": as_json,
    "text": as_text,
    "terminal": Terminal(lambda: 100, colour=True),
    "no_colour": Terminal(lambda: 100, colour=False),
    "narrow": Terminal(lambda: 48, colour=False),
}

RECORDS: dict[LogEvent, dict[str, object]] = {
    LogEvent.SERVER_LISTENING: {"address": "https://social.example.org"},
    LogEvent.MIGRATION_APPLIED: {"address": "0063 stream_log"},
    LogEvent.CHILD_STARTED: {"child": "storage", "seconds": 0.41},
    LogEvent.CHILD_STOPPED: {"child": "storage"},
    LogEvent.CHILD_CRASHED: {
        "child": "homes", "error": "LookupError: no such row", "place": "homes.py:31",
        "decision": "restart it and the parts after it in 0.1 s",
    },
    LogEvent.ACTOR_CRASHED: {
        "actor": "account/116812345678901248", "incarnation": 2, "message": "PostStatus", "message_id": 4711,
        "request_id": REQUEST, "causes": ["http", "account/116812345678901248"], "error": "ValueError: a poll of one",
        "place": "statuses.py:88", "depth": 3, "crashes_60s": 2, "decision": "restart in 0.1 s",
    },
    LogEvent.ACTOR_RESTORED: {
        "actor": "account/116812345678901248", "incarnation": 3, "restored": "12 rows", "seconds": 0.004,
    },
    LogEvent.ACTOR_QUARANTINED: {
        "actor": "home/1103", "error": "ValueError: a poll of one", "crashes_60s": 6, "decision": "600 s of quarantine",
    },
    LogEvent.ACTOR_RELEASED: {"actor": "home/1103", "decision": "its quarantine is over"},
    LogEvent.MESSAGE_PARKED: {
        "actor": "home/1103", "message": "StatusPosted", "message_id": 4712, "request_id": REQUEST,
        "error": "ValueError: a poll of one", "decision": "stored in dead_letters",
    },
    LogEvent.TURN_SLOW: {
        "actor": "account/1103", "message": "PostStatus", "request_id": REQUEST, "seconds": 1.5, "stack": STACK,
    },
    LogEvent.LOOP_STALLED: {
        "request_id": REQUEST, "function": "post_status (actors/commands/statuses.py:80)", "seconds": 0.412,
        "stack": STACK,
    },
    LogEvent.MAILBOX_FULL: {"actor": "tag/日本", "depth": 256, "decision": "asks are refused"},
    LogEvent.ASK_CYCLE: {"actor": "list/9", "causes": ["list/9", "account/7"], "request_id": REQUEST},
    LogEvent.CONNECTIONS_FULL: {"child": "http", "decision": "503 to further connections"},
    LogEvent.STREAM_CUT: {"actor": "home/1103", "error": "256 events wait", "decision": "the connection is closed"},
    LogEvent.STORAGE_LOST: {
        "error": "ConnectionRefusedError: [Errno 111]", "decision": "requests get 503 until it is back",
    },
    LogEvent.STORAGE_BACK: {},
    LogEvent.STORAGE_REFUSED: {
        "error": "DiskFullError: could not extend file", "decision": "requests get 503 until it works",
    },
    LogEvent.STORAGE_ACCEPTED: {"seconds": 12.5},
    LogEvent.DISK_LOW: {
        "child": "disks", "error": "data: 1.9 GiB free of 40.0 GiB", "decision": "free some space before it is full",
    },
    LogEvent.DISK_WELL: {"child": "disks", "error": "data: 9.0 GiB free of 40.0 GiB"},
    LogEvent.STORAGE_RESTARTED: {},
    LogEvent.CONNECTION_LOST: {
        "error": "PostgreSQL closed it while it was idle", "decision": "open another one",
    },
    LogEvent.NODE_TAKEOVER: {"node": "main-7 on web1 since 08:00", "decision": "the other server can write no more"},
    LogEvent.NODE_COMPLETE: {},
    LogEvent.NODE_INCOMPLETE: {},
    LogEvent.NODE_RESET: {"error": "web2 has ended", "decision": "everything in memory is read again"},
    LogEvent.NODE_UNREADABLE: {"node": "web2", "error": "Unreadable: Input data was truncated", "decision": "ignored"},
    LogEvent.BUS_FOUND: {"address": "10.0.0.5:4222"},
    LogEvent.BUS_LOST: {
        "error": "10.0.0.5:4222: it has not answered for 1.25 s",
        "decision": "try all servers of bus_url again and again",
    },
    LogEvent.BUS_REFUSED: {
        "error": 'Permissions Violation for Subscription to "troupe.social.web1"',
        "decision": "allow the user of bus_url to publish and to subscribe to troupe.social.>",
    },
    LogEvent.BUS_DROPPED: {
        "error": "31 messages of this node: too many wait to be sent to the broker",
        "decision": "the nodes read again what is missing",
    },
    LogEvent.NODE_FENCED: {"error": "node main-8 holds the term", "decision": "exit"},
    LogEvent.OUTBOX_RETRY: {
        "effect": "deliveries", "host": "far.example", "error": "Unreachable: the connection failed",
        "decision": "again in 45 s",
    },
    LogEvent.OUTBOX_GIVEN_UP: {"effect": "mail", "error": "Undeliverable: refused the receiver (550)"},
    LogEvent.REQUEST_FAILED: {
        "message": "GET /api/v1/timelines/home", "request_id": REQUEST, "error": "KeyError: 'home'",
        "place": "timelines.py:40", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    },
    LogEvent.PUSH_ENDED: {"host": "push.example", "decision": "the subscription is deleted"},
    LogEvent.HOST_LEFT_ALONE: {
        "host": "far.example", "error": "TookTooLong: no answer in time", "decision": "no delivery for 60 s",
    },
    LogEvent.HOST_BACK: {"host": "far.example"},
    LogEvent.REGISTRATIONS_CLOSED: {"decision": "sign-ups are closed"},
    LogEvent.TEST_HOSTS_ALLOWED: {"decision": "private addresses allowed: gts.test"},
    LogEvent.EXPIRY_SWEPT: {"decision": "sessions: 3, sign-ups: 1"},
    LogEvent.SEARCH_FILLING: {"decision": "posts since 2026-10-01 12:00 can be found, older ones are being added"},
    LogEvent.SEARCH_FILLED: {"decision": "all posts can be found; 900 were added since the start"},
    LogEvent.MEDIA_CLEANED: {"decision": "uploads: 2, files: 5"},
    LogEvent.MEDIA_RETRY: {"error": "OSError: No space left on device", "decision": "again in 60 s"},
    LogEvent.MEDIA_FAILED: {"error": "a decoder was killed by signal 31", "decision": "the upload is refused"},
    LogEvent.CONFINEMENT_INCOMPLETE: {"error": "namespaces (Operation not permitted)"},
    LogEvent.POLICIES_UNUSABLE: {"error": "rules.toml: Expected '=' after a key", "decision": "those before it stay"},
    LogEvent.TRANSLATION_FAILED: {"error": "TookTooLong: no answer in time", "decision": "none for 30 s"},
    LogEvent.FETCH_FAILED: {"host": "far.example", "error": "KeyError: 'inbox'", "place": "resolver.py:210"},
    LogEvent.TRACES_OFF: {
        "error": "ModuleNotFoundError: No module named 'opentelemetry'", "decision": "install troupe-server[traces]",
    },
    LogEvent.LIBRARY_SAID: {"logger": "hypercorn.error", "error": "Error in ASGI Framework"},
    LogEvent.LOG_DROPPED: {"count": 42, "folded_seconds": 7.0},
    LogEvent.CERTIFICATE_LOADED: {"decision": "new connections get the one that ends on 2027-02-19"},
    LogEvent.CERTIFICATE_REFUSED: {
        "error": "/etc/troupe/privkey.pem can't be read: Permission denied",
        "decision": "new connections get the last good one",
    },
    LogEvent.HANGUP_IGNORED: {"decision": "go on: settings of files and options need a restart"},
    LogEvent.PROCESS_ENDED: {
        "child": "main-2", "error": "SIGKILL", "decision": "start it again in 0.5 s",
    },
    LogEvent.SHUTDOWN_MISSED: {"node": "main-7 on web1 since 08:00"},
    LogEvent.SHUTDOWN_BEGUN: {"decision": "SIGTERM"},
    LogEvent.SHUTDOWN_HURRIED: {"decision": "SIGINT"},
    LogEvent.SHUTDOWN_DONE: {},
}  # fmt: skip


class NoonClock:
    """A clock that stands still."""

    def now(self) -> datetime:
        return datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def written(form: Form) -> str:
    """The whole log in a form: one record of each event, and one that stands for two others."""
    lines: list[str] = []
    log = SupervisionLog(lines.append, NoonClock(), form, strict=True)
    for event in LogEvent:
        log.record(event.word, **RECORDS[event])
    for request in ("0199f2c4b1d87e6b", "0199f2c4b1d87e6c"):
        log.record("actor.crashed", **RECORDS[LogEvent.ACTOR_CRASHED] | {"request_id": request})
    log.close()
    return "".join(lines)
