"""The actor runtime: addresses, mailboxes, turns, incarnations, feeds."""

from .actor import Actor, finished, turn
from .address import Address
from .cell import Cell
from .clock import Clock, SystemClock
from .envelope import NOWHERE, Envelope, Origin
from .errors import AskCycle, Busy, Crashed, KernelError, NotAnswered, Quarantined, Refused, Stopping, TimedOut
from .feed import Event, Feed, Subscriber
from .ids import Ids, first_id_at, instant_of_id
from .message import Answer, Message, SystemMessage
from .policy import RestartPolicy
from .pool import IDLE, ActorPool
from .pool_services import Chooser, Observer, Record
from .runtime import Runtime
from .shared_bound import SharedBound

__all__ = [
    "IDLE", "NOWHERE", "Actor", "ActorPool", "Address", "Answer", "AskCycle", "Busy", "Cell", "Chooser", "Clock",
    "Crashed", "Envelope", "Event", "Feed", "Ids", "KernelError", "Message", "NotAnswered", "Observer", "Origin",
    "Quarantined", "Record", "Refused", "RestartPolicy", "Runtime", "SharedBound", "Stopping", "Subscriber",
    "SystemClock", "SystemMessage", "TimedOut", "finished", "first_id_at", "instant_of_id", "turn",
]  # fmt: skip
