"""The actor runtime: addresses, mailboxes, turns, incarnations, feeds."""

from .actor import Actor, finished, turn
from .cell import Cell
from .clock import Clock, Ids, SystemClock, first_id_at, instant_of_id
from .errors import AskCycle, Busy, Crashed, KernelError, NotAnswered, Quarantined, Refused, Stopping, TimedOut
from .feed import Event, Feed, Subscriber
from .message import NOWHERE, Address, Answer, Envelope, Message, Origin, SystemMessage
from .passivation import SharedBound
from .pool import IDLE, ActorPool
from .pool_context import Chooser, Observer, Record
from .recovery import RestartPolicy
from .runtime import Runtime

__all__ = [
    "IDLE", "NOWHERE", "Actor", "ActorPool", "Address", "Answer", "AskCycle", "Busy", "Cell", "Chooser", "Clock",
    "Crashed", "Envelope", "Event", "Feed", "Ids", "KernelError", "Message", "NotAnswered", "Observer", "Origin",
    "Quarantined", "Record", "Refused", "RestartPolicy", "Runtime", "SharedBound", "Stopping", "Subscriber",
    "SystemClock", "SystemMessage", "TimedOut", "finished", "first_id_at", "instant_of_id", "turn",
]  # fmt: skip
