"""A runtime of simulated servers in which messages and answers travel as bytes, as they would between two processes.

A sample of the seeds runs on it, because the codec takes about 8 % of the CPU of a run. A message that the codec can't
carry fails for nearly every seed, so that a sample finds it.
"""

from __future__ import annotations

from ....actors.cluster.commands import owner_account
from ....actors.codec import CODEC
from ....actors.kernel import NOWHERE, Address, Envelope, Message, Origin, Refused, Runtime
from ....actors.kernel.cell import Asker
from ....actors.kernel.message import Control, R, Reply

CODED_EVERY = 4  # seeds


def runtime_class(seed: int) -> type[Runtime]:
    """Return the class of the runtime for a seed. Seed 0 has the codec, for scenarios with few seeds."""
    return CodedRuntime if seed % CODED_EVERY == 0 else Runtime


class CodedRuntime(Runtime):
    """A runtime that fails on a message or an answer that the codec can't carry, or whose receiver is not known."""

    async def ask(
        self,
        address: Address,
        message: Message[R],
        *,
        origin: Origin = NOWHERE,
        deadline: float | None = None,
        asker: Asker | None = None,
        arrived: tuple[str, ...] | None = None,
    ) -> R:
        kind = type(message)
        owner_account(address, message)  # fails on a command whose owner is not known
        answer: R | Refused
        try:
            answer = await super().ask(address, message, origin=origin, deadline=deadline, asker=asker, arrived=arrived)
        except Refused as refusal:
            answer = refusal
        read = CODEC.decode_answer(kind, CODEC.encode_answer(kind, answer))
        if isinstance(read, Refused):
            raise read
        return read

    def _envelope(
        self,
        message: object,
        origin: Origin,
        now: float,
        deadline: float = float("inf"),
        reply: Reply[object] | None = None,
    ) -> Envelope:
        sent = message if _stays(message) else CODEC.decode(CODEC.encode(message))
        return super()._envelope(sent, origin, now, deadline, reply)


def _stays(message: object) -> bool:
    """True for a value that never leaves a process."""
    return isinstance(message, Control)
