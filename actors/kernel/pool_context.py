"""The context that the parts of one pool share."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cell import Cell
from .crowded_cells import CrowdedCells
from .pool_services import PoolServices
from .run_queue import RunQueue


@dataclass(frozen=True, slots=True)
class PoolContext:
    """The state of a pool that more than one of its parts works on."""

    services: PoolServices
    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])  # by key: the awake actors
    queue: RunQueue = field(default_factory=RunQueue)
    crowd: CrowdedCells = field(default_factory=CrowdedCells)
