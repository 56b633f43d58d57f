"""The vocabulary of the supervision log: all its events and facts.

Operators build alarms on these names. The README shows them, and tests compare the code and the README with this list.
"""

from __future__ import annotations

from enum import Enum


class Level(Enum):
    """The severity of a record."""

    INFO = 0
    WARNING = 1
    ERROR = 2


class LogEvent(Enum):
    """The events, with their level and their meaning."""

    SERVER_LISTENING = "server.listening", Level.INFO, "The server takes requests."
    MIGRATION_APPLIED = "migration.applied", Level.INFO, "A migration was applied at start."
    CHILD_STARTED = "child.started", Level.INFO, "A part of the infrastructure runs."
    CHILD_STOPPED = "child.stopped", Level.INFO, "A part of the infrastructure was stopped."
    CHILD_CRASHED = "child.crashed", Level.ERROR, "A part of the infrastructure failed; the parts after it restart too."
    ACTOR_CRASHED = "actor.crashed", Level.ERROR, "An actor failed on a message; its memory is discarded."
    ACTOR_RESTORED = (
        "actor.restored",
        Level.INFO,
        "An actor was loaded again from rows: after a crash, missed hints, or a change of visibility.",
    )
    ACTOR_QUARANTINED = "actor.quarantined", Level.ERROR, "An actor failed too often and takes no messages for a while."
    ACTOR_RELEASED = "actor.released", Level.INFO, "An actor is out of quarantine."
    MESSAGE_PARKED = "message.parked", Level.ERROR, "A message crashed its actor again and is stored in `dead_letters`."
    TURN_SLOW = "turn.slow", Level.WARNING, "A turn runs for more than a second; the stack shows where."
    MAILBOX_FULL = (
        "mailbox.full",
        Level.WARNING,
        "A mailbox is full: asks are refused, and hints are replaced by one reload from rows.",
    )
    ASK_CYCLE = "ask.cycle", Level.ERROR, "An actor asked one that waits for it; refused at once. This is a bug."
    CONNECTIONS_FULL = (
        "connections.full",
        Level.WARNING,
        "The file descriptors of the process allow no more connections; requests on new ones get 503.",
    )
    STREAM_CUT = "stream.cut", Level.WARNING, "A streaming connection could not keep up or failed, and was closed."
    STORAGE_LOST = "storage.lost", Level.ERROR, "PostgreSQL can't be reached; requests get 503 until it is back."
    STORAGE_BACK = "storage.back", Level.INFO, "PostgreSQL is back."
    STORAGE_REFUSED = (
        "storage.refused",
        Level.ERROR,
        "PostgreSQL or a disk refuses work, for the reason that the error gives; requests get 503.",
    )
    STORAGE_ACCEPTED = "storage.accepted", Level.INFO, "PostgreSQL accepts work again, after refusals."
    DISK_LOW = "disk.low", Level.WARNING, "A disk that the server writes to is nearly full."
    DISK_WELL = "disk.well", Level.INFO, "That disk has room again."
    STORAGE_RESTARTED = "storage.restarted", Level.WARNING, "PostgreSQL was restarted since the last connection to it."
    CONNECTION_LOST = "connection.lost", Level.WARNING, "A connection to PostgreSQL was lost; another one is opened."
    NODE_TAKEOVER = "node.takeover", Level.WARNING, "This server has taken the database over from another one."
    NODE_FENCED = "node.fenced", Level.ERROR, "Another server took over the database; this one exits."
    OUTBOX_RETRY = "outbox.retry", Level.WARNING, "An effect of a committed change failed and is tried again later."
    OUTBOX_GIVEN_UP = (
        "outbox.given_up",
        Level.WARNING,
        "An effect will not be tried again, for the reason of its error.",
    )
    REQUEST_FAILED = "request.failed", Level.ERROR, "A request failed for a reason that is no refusal; it got a 500."
    PUSH_ENDED = "push.ended", Level.INFO, "A push service refused a device for good; its subscription was deleted."
    HOST_LEFT_ALONE = (
        "host.left_alone",
        Level.WARNING,
        "Deliveries to another server failed again and again, or it asked for a pause; it gets none for a while.",
    )
    HOST_BACK = "host.back", Level.INFO, "A server that deliveries failed to reach works again."
    TRACES_OFF = (
        "traces.off",
        Level.WARNING,
        "At start: the environment asks for traces, and they can't be sent, for the reason that `error` gives.",
    )
    REGISTRATIONS_CLOSED = (
        "registrations.closed",
        Level.WARNING,
        "At start: sign-ups are closed although staff or `registrations` allow them: without `smtp_host` no address can"
        " be confirmed.",
    )
    TEST_HOSTS_ALLOWED = (
        "test_hosts.allowed",
        Level.WARNING,
        "At start: `test_hosts` lets requests leave for private addresses. Never set it on a server with real users.",
    )
    EXPIRY_SWEPT = (
        "expiry.swept",
        Level.INFO,
        "Rows whose time was over were deleted, such as sessions or unconfirmed sign-ups. `decision` counts each kind.",
    )
    MEDIA_CLEANED = (
        "media.cleaned",
        Level.INFO,
        "Unused uploads, files and cards were removed. `decision` counts each kind.",
    )
    MEDIA_RETRY = (
        "media.retry",
        Level.WARNING,
        "An upload could not be processed or stored, or a file could not be removed; it is tried again later.",
    )
    MEDIA_FAILED = "media.failed", Level.WARNING, "A media process gave no result; its upload was refused."
    CONFINEMENT_INCOMPLETE = (
        "confinement.incomplete",
        Level.WARNING,
        "Soon after the start: this machine lacks something that confines media processes; `error` names it.",
    )
    POLICIES_UNUSABLE = (
        "policies.unusable",
        Level.WARNING,
        "A file of the operator's texts can't be used; the texts that were read before are shown.",
    )
    TRANSLATION_FAILED = (
        "translation.failed",
        Level.WARNING,
        "The translation service did not answer, or not with a translation; after some failures it is left alone.",
    )
    FETCH_FAILED = (
        "fetch.failed",
        Level.ERROR,
        "Work on what another server holds failed, because of an error of this server.",
    )
    LIBRARY_SAID = "library.said", Level.WARNING, "A library that Troupe uses logged a warning or an error."
    LOG_DROPPED = (
        "log.dropped",
        Level.ERROR,
        "Records are missing here: the log's reader was too slow, its disk was full, or its pipe was closed.",
    )
    HANGUP_IGNORED = (
        "hangup.ignored",
        Level.INFO,
        "SIGHUP came to a server without a terminal. There is nothing to read again: texts and a moved log file are"
        " noticed without it.",
    )
    SHUTDOWN_MISSED = (
        "shutdown.missed",
        Level.WARNING,
        "The last run of this node did not end in order: it was killed, it failed, or the machine went down.",
    )
    SHUTDOWN_BEGUN = "shutdown.begun", Level.INFO, "The server takes no new requests and finishes the running ones."
    SHUTDOWN_HURRIED = (
        "shutdown.hurried",
        Level.WARNING,
        "A second signal: running requests are cut, and everything is closed in order.",
    )
    SHUTDOWN_DONE = "shutdown.done", Level.INFO, "The server has stopped in order."

    word: str
    level: Level
    meaning: str

    def __new__(cls, word: str, level: Level, meaning: str) -> LogEvent:
        event = object.__new__(cls)
        event._value_ = word
        event.word, event.level, event.meaning = word, level, meaning
        return event


FACTS = {
    "host": "Another server.",
    "actor": "The address of the actor, such as `home/1103`.",
    "child": "The name of the part in the supervision tree.",
    "effect": "The kind of an effect in the outbox.",
    "incarnation": "How many times it has been started.",
    "message": "The kind of the message in whose turn it happened.",
    "message_id": "The number of that message in this process.",
    "request_id": "The `X-Request-Id` of the request that caused it.",
    "trace_id": "The trace of that request, if traces are on.",
    "causes": "The chain of actors through which the message came.",
    "error": "The type and text of the error, without data of people.",
    "place": "File and line of the innermost frame.",
    "stack": "Where a slow turn waits.",
    "depth": "Messages that wait in the mailbox.",
    "crashes_60s": "Crashes of this actor in the last 60 seconds.",
    "decision": "The action that supervision takes.",
    "restored": "The contents of the new incarnation.",
    "seconds": "How long it took, or takes so far.",
    "address": "Where the server listens, or the migration's file.",
    "node": "A server process: its number, its host and when it started.",
    "logger": "The name under which the library logs.",
    "count": "The number of equal records that this one stands for.",
    "folded_seconds": "The time from the first of these to the last; the record's own time is that of the first.",
    "request_ids": "The first requests of those.",
    "commands": "The commands that show more: the actor, the part, the request.",
}
