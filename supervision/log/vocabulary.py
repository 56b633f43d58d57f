"""The vocabulary of the supervision log: all its events and facts.

Operators build alarms on these names. The handbook shows them, and tests compare the code and
the handbook with this list.
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

    SERVER_LISTENING = "server.listening", Level.INFO, "The server listens and takes requests."
    MIGRATION_APPLIED = "migration.applied", Level.INFO, "The server applied a migration at start."
    CHILD_STARTED = "child.started", Level.INFO, "A part of the infrastructure started."
    CHILD_STOPPED = "child.stopped", Level.INFO, "A part of the infrastructure stopped."
    CHILD_CRASHED = (
        "child.crashed",
        Level.ERROR,
        "A part of the infrastructure failed. The supervisor starts it and the parts after it again, or ends the"
        " server: see `decision`. `troupe tree` shows the parts.",
    )
    ACTOR_CRASHED = (
        "actor.crashed",
        Level.ERROR,
        "An actor failed on a message, and its memory is discarded. It is loaded again from the database. This is a"
        " bug: please report it with `error` and `place`.",
    )
    ACTOR_RESTORED = (
        "actor.restored",
        Level.INFO,
        "An actor was loaded again from the database: after a crash, after hints that it missed, or after a change"
        " of visibility.",
    )
    ACTOR_QUARANTINED = (
        "actor.quarantined",
        Level.ERROR,
        "An actor failed too often and takes no messages for a while. `troupe actor show` shows its crashes;"
        " `troupe actor release` ends the quarantine.",
    )
    ACTOR_RELEASED = "actor.released", Level.INFO, "The quarantine of an actor ended."
    MESSAGE_PARKED = (
        "message.parked",
        Level.ERROR,
        "A message crashed its actor a second time and was stored in `dead_letters`. `troupe dead-letters` shows"
        " it, sends it again or deletes it.",
    )
    TURN_SLOW = (
        "turn.slow",
        Level.WARNING,
        "A turn has run for more than a second. `stack` shows where it is; `troupe actor release` ends it.",
    )
    LOOP_STALLED = (
        "loop.stalled",
        Level.WARNING,
        "The event loop was kept for longer than `loop_stall_warning`, so all clients waited. `function` kept it:"
        " please report it with `stack`. Without a function, `error` has the cause. `troupe doctor`"
        " shows the stalls of the last day.",
    )
    MAILBOX_FULL = (
        "mailbox.full",
        Level.WARNING,
        "A mailbox is full: asks are refused, and hints are replaced by one reload from the database. `troupe top`"
        " shows the fullest.",
    )
    ASK_CYCLE = (
        "ask.cycle",
        Level.ERROR,
        "An actor asked another actor that waits for it, and was refused at once. This is a bug: please report it.",
    )
    CONNECTIONS_FULL = (
        "connections.full",
        Level.WARNING,
        "The file descriptors of the process allow no more connections; requests on new connections get 503. Raise"
        " `LimitNOFILE` or `ulimit -n`.",
    )
    STREAM_CUT = (
        "stream.cut",
        Level.WARNING,
        "The server closed a streaming connection that could not keep up or failed. The client connects again.",
    )
    STORAGE_LOST = (
        "storage.lost",
        Level.ERROR,
        "The server can't reach PostgreSQL; requests get 503 until it can. `troupe doctor` looks for the cause.",
    )
    STORAGE_BACK = "storage.back", Level.INFO, "The server reached PostgreSQL again."
    STORAGE_REFUSED = (
        "storage.refused",
        Level.ERROR,
        "PostgreSQL or a disk refuses work, for the reason in `error`; requests get 503 until it is removed.",
    )
    STORAGE_ACCEPTED = "storage.accepted", Level.INFO, "PostgreSQL accepts work again, after refusals."
    DISK_LOW = (
        "disk.low",
        Level.WARNING,
        "A disk that the server writes to is nearly full. Free some space: `troupe doctor` names what takes it.",
    )
    DISK_WELL = "disk.well", Level.INFO, "A disk that was nearly full has room again."
    STORAGE_RESTARTED = "storage.restarted", Level.WARNING, "PostgreSQL was restarted since the last connection to it."
    CONNECTION_LOST = (
        "connection.lost",
        Level.WARNING,
        "The server lost a connection to PostgreSQL and opens another one.",
    )
    NODE_TAKEOVER = (
        "node.takeover",
        Level.WARNING,
        "This server took the database over from another server, which can write no more.",
    )
    NODE_COMPLETE = (
        "node.complete",
        Level.INFO,
        "This node has heard from all other nodes of the cluster, and answers requests.",
    )
    NODE_INCOMPLETE = (
        "node.incomplete",
        Level.WARNING,
        "This node has not heard from another node of the cluster for a moment. It answers 503 until it has.",
    )
    NODE_RESET = (
        "node.reset",
        Level.WARNING,
        "Changes of another node did not arrive, or it has ended. This node reads everything in memory again.",
    )
    NODE_UNREADABLE = (
        "node.unreadable",
        Level.ERROR,
        "A message of another node can't be read, and was ignored. The nodes may have different versions.",
    )
    BUS_FOUND = (
        "bus.found",
        Level.INFO,
        "This node has connected to a message broker (NATS) of the cluster.",
    )
    BUS_LOST = (
        "bus.lost",
        Level.ERROR,
        "This node has no connection to a message broker, for the reason in `error`. It answers 503 where it needs the"
        " other nodes.",
    )
    BUS_REFUSED = (
        "bus.refused",
        Level.ERROR,
        "The message broker does not let this node publish or subscribe. `decision` says what to allow.",
    )
    BUS_DROPPED = (
        "bus.dropped",
        Level.WARNING,
        "Messages between nodes were dropped in the last minute, for the reasons in `error`. The nodes notice it and"
        " read everything in memory again.",
    )
    NODE_FENCED = "node.fenced", Level.ERROR, "Another server took over the database, so this server exits."
    OUTBOX_RETRY = (
        "outbox.retry",
        Level.WARNING,
        "An effect of a committed change failed and is tried again later. `troupe outbox` lists waiting"
        " effects and retries them.",
    )
    OUTBOX_GIVEN_UP = "outbox.given_up", Level.WARNING, "An effect is not tried again, for the reason in `error`."
    REQUEST_FAILED = (
        "request.failed",
        Level.ERROR,
        "A request got a 500 because of an error of this server. This is a bug: please report it.",
    )
    PUSH_ENDED = "push.ended", Level.INFO, "A push service refused a device for good, and its subscription was deleted."
    HOST_LEFT_ALONE = (
        "host.left_alone",
        Level.WARNING,
        "Deliveries to another server failed again and again, or it asked for a pause, so it gets none for a while."
        " `troupe federation retry` sends at once.",
    )
    HOST_BACK = "host.back", Level.INFO, "A server that deliveries had failed to reach takes them again."
    TRACES_OFF = (
        "traces.off",
        Level.WARNING,
        "At start: the environment asks for traces, and they can't be sent, for the reason in `error`. `decision`"
        " says what to change.",
    )
    REGISTRATIONS_CLOSED = (
        "registrations.closed",
        Level.WARNING,
        "At start: sign-ups are closed although staff or `registrations` allow them, because no address can be"
        " confirmed without `smtp_host`. Set it.",
    )
    TEST_HOSTS_ALLOWED = (
        "test_hosts.allowed",
        Level.WARNING,
        "At start: `test_hosts` lets requests leave for private addresses. Never set it on a server with real users.",
    )
    EXPIRY_SWEPT = (
        "expiry.swept",
        Level.INFO,
        "The server deleted rows whose time was over, such as sessions or unconfirmed sign-ups. `decision` counts"
        " each kind.",
    )
    SEARCH_FILLING = (
        "search.filling",
        Level.INFO,
        "After an upgrade: the posts of earlier versions are made searchable while the server serves, the newest first."
        " `decision` says how far it is.",
    )
    SEARCH_FILLED = "search.filled", Level.INFO, "After an upgrade: all posts of earlier versions are searchable."
    MEDIA_CLEANED = (
        "media.cleaned",
        Level.INFO,
        "The server removed unused uploads, files and cards. `decision` counts each kind.",
    )
    MEDIA_RETRY = (
        "media.retry",
        Level.WARNING,
        "An upload could not be processed or stored, or a file could not be removed. The server tries again later.",
    )
    MEDIA_FAILED = (
        "media.failed",
        Level.WARNING,
        "A media process gave no result, and its upload was refused. The user may upload another file.",
    )
    CONFINEMENT_INCOMPLETE = (
        "confinement.incomplete",
        Level.WARNING,
        "Soon after the start: this machine lacks something that confines media processes; `error` names it, and"
        " `troupe doctor` says how to add it.",
    )
    POLICIES_UNUSABLE = (
        "policies.unusable",
        Level.WARNING,
        "A file of the operator's texts can't be used, for the reason in `error`. The texts that were read before"
        " are shown until it is corrected.",
    )
    TRANSLATION_FAILED = (
        "translation.failed",
        Level.WARNING,
        "The translation service gave no answer, or an answer without a translation. After some failures it is not"
        " asked for a while.",
    )
    FETCH_FAILED = (
        "fetch.failed",
        Level.ERROR,
        "Work with data of another server failed because of an error of this server. This is a bug: please report it.",
    )
    LIBRARY_SAID = "library.said", Level.WARNING, "A library that Troupe uses logged a warning or an error."
    LOG_DROPPED = (
        "log.dropped",
        Level.ERROR,
        "Records are missing here: the log's reader was too slow, its disk was full, or its pipe was closed.",
    )
    CERTIFICATE_LOADED = (
        "certificate.loaded",
        Level.INFO,
        "At start, after SIGHUP, or because its files have changed: the certificate of `tls_certificate` was read.",
    )
    CERTIFICATE_REFUSED = (
        "certificate.refused",
        Level.WARNING,
        "The files of `tls_certificate` and `tls_key` have changed and can't be used, for the reason in `error`.",
    )
    HANGUP_IGNORED = (
        "hangup.ignored",
        Level.INFO,
        "A server without a terminal got SIGHUP and ignored it. Changed texts and a moved log file are noticed"
        " without a signal; settings need a restart.",
    )
    PROCESS_ENDED = (
        "process.ended",
        Level.ERROR,
        "A process of `processes`, or the nats-server between them, has ended. `error` says how; the process that"
        " started it starts it again, or stops the server: see `decision`.",
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
        "A second signal came: running requests are cut, and everything is closed in order.",
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
    "incarnation": "The number of times it was started.",
    "message": "The kind of the message that the actor was handling.",
    "message_id": "The number of the message in this process.",
    "request_id": "The `X-Request-Id` of the request that caused it.",
    "trace_id": "The trace of that request, if traces are on.",
    "causes": "The chain of actors through which the message came.",
    "error": "The type and text of the error, without data of people.",
    "place": "File and line of the innermost frame.",
    "function": "The function that kept the event loop, with its file and the line where it begins.",
    "stack": "The stack of a slow turn, or of the function that kept the event loop.",
    "depth": "Messages that wait in the mailbox.",
    "crashes_60s": "Crashes of this actor in the last 60 seconds.",
    "decision": "The action that supervision takes.",
    "restored": "The contents of the new incarnation.",
    "seconds": "The time that it took, or takes so far.",
    "address": "The address that the server listens on, that of the message broker, or the migration's file.",
    "node": "A server process: its number, its host and when it started. With `processes`, the name of the node that"
    " wrote the record.",
    "logger": "The name under which the library logs.",
    "count": "The number of equal records that this record stands for.",
    "folded_seconds": "The time from the first to the last of these records; the record's own time is of the first.",
    "request_ids": "The requests of the first of these records.",
    "commands": "The commands that show more: the actor, the part, the request.",
}
