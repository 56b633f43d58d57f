"""The context that the parts of one pool share."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cell import Cell
from .crowd import Crowd
from .run_queue import RunQueue
from .surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class PoolContext:
    """The state of a pool that more than one of its parts works on."""

    around: Surroundings
    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])  # by key: the awake actors
    queue: RunQueue = field(default_factory=RunQueue)
    crowd: Crowd = field(default_factory=Crowd)
