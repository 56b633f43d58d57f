"""The actor runtime: addresses, mailboxes, turns, incarnations, feeds.

A message goes from the runtime into a mailbox; the drainer of the actor's pool takes it out and calls the turn.

    runtime.py         finds the pool and the cell of an address: `tell`, `ask` (deadlines, refused cycles), `subscribe`
    pool.py            the cells of one kind of actor, start and stop, housekeeping
    pool_context.py    the context that the parts of a pool share: services, cells, and the queue of cells with mail
    mailbox_writer.py  writes a message into a mailbox, or refuses it
    drainer.py         calls the turns; one task for each pool
    work.py            turns and loads that wait, each in a task of its own
    activation.py      loads an incarnation from rows
    recovery.py        handles crashes: back-off, quarantine, parked messages, the end of an incarnation
    passivation.py     puts idle actors to sleep; limits the memory that several pools hold together
    watchdog.py        finds slow and overdue turns
    inspection.py      shows actors to operators, also actors that hang
    interventions.py   operators' commands to single actors
    request_trail.py   the consequences of each request, in two bounded buffers
    cell.py            the parts of an actor that outlive an incarnation: mailbox, feed, crashes; and crowded actors
    actor.py           the base class of actors, and `@turn`
    feed.py            stream events and their subscribers
    resumption.py      the ids of events, from which an interrupted client resumes, and the memory of a feed
    message.py         messages, their addresses and envelopes; mailbox.py holds waiting messages
    codec.py           messages and answers as bytes
    errors.py          the errors that an asker can get instead of an answer
    clock.py           the time of day, and the ids that sort by it

A pool is a drainer and helpers with one subject each; `PoolContext` has their common state. The loop of the drainer and
the call of a turn are in one class, because each further call there would slow every message.
"""

from .actor import Actor, finished, turn
from .cell import Cell
from .clock import Clock, Ids, SystemClock, first_id_at, instant_of_id
from .errors import AskCycle, Busy, Crashed, KernelError, NotAnswered, Quarantined, Refused, Stopping, TimedOut
from .feed import Event, Feed, Subscriber
from .message import NOWHERE, Address, Answer, Command, Envelope, Message, Origin, SystemCommand, SystemMessage
from .passivation import SharedBound
from .pool import IDLE, ActorPool
from .pool_context import Chooser, Observer, Record
from .recovery import RestartPolicy
from .runtime import Runtime

__all__ = [
    "IDLE", "NOWHERE", "Actor", "ActorPool", "Address", "Answer", "AskCycle", "Busy", "Cell", "Chooser", "Clock",
    "Command", "Crashed", "Envelope", "Event", "Feed", "Ids", "KernelError", "Message", "NotAnswered", "Observer",
    "Origin", "Quarantined", "Record", "Refused", "RestartPolicy", "Runtime", "SharedBound", "Stopping",
    "Subscriber", "SystemClock", "SystemCommand", "SystemMessage", "TimedOut", "finished", "first_id_at",
    "instant_of_id", "turn",
]  # fmt: skip
